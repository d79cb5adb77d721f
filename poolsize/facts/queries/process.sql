-- Which server answers, and what time is it there?
SELECT @@hostname, @@port, UNIX_TIMESTAMP()
