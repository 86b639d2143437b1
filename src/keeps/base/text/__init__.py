"""Process text: search terms, languages, and cues in wording. Pure."""
