"""What answers mean: rows, endpoint, gates, tripwires, claims, preregistration."""
