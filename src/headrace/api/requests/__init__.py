"""Reading requests and writing answers: documents, parameters, headers, and where a request comes from."""
