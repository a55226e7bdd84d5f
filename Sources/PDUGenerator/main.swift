print("usage: PDUGenerator DECLARATIONS OUTPUT")
