"""Does an imported agent behave like the Bedrock agent that it replaces? Measured on the same cases."""
