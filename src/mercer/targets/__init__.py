"""y as a fit sees it: numbers, classes or relevance, checked, encoded and summed up."""
