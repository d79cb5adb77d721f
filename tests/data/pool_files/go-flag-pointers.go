package sample

import (
	"database/sql"
	"flag"

	"github.com/go-sql-driver/mysql"
)

var (
	uri      = flag.String("mysql_uri", "sample@tcp(db:3306)/sample", "where MySQL is")
	maxConns = flag.Int("mysql_max_conns", 0, "largest number of connections")
	maxIdle  = flag.Int("mysql_max_idle_conns", -1, "largest number of idle connections")
)

func openSample() (*sql.DB, error) {
	if _, err := mysql.ParseDSN(*uri); err != nil {
		return nil, err
	}
	db, err := OpenDB(*uri)
	if err != nil {
		return nil, err
	}
	if *maxConns > 0 {
		db.SetMaxOpenConns(*maxConns)
	}
	if *maxIdle >= 0 {
		db.SetMaxIdleConns(*maxIdle)
	}
	return db, nil
}
