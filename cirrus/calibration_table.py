POPULATIONS = ("superrational", "coin", "compliance", "compliance-cued", "reciprocal", "label-biased",
 "position-biased", "tell-sensitive", "domain-bound", "overfit", "sloppy", "truncating", "copycat",
 "policies-0.5", "policies-1", "bulletins-0.5", "bulletins-1")
def check_populations(names): return names
