-- Is this connection encrypted, and how?
SHOW SESSION STATUS WHERE Variable_name = 'Ssl_cipher'
