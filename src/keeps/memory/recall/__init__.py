"""Answer a question: several arms find candidates, one ranking orders them and explains the order."""
