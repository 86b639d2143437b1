"""Import and export of data in the formats of other products: `formats.FORMATS` lists them."""
