"""What policies say: labels, agreement of raters, sheets, adjudication."""
