"""Phase 2: typed fields out of a review's text. Fields, extractors, and how well two extractors agree."""
