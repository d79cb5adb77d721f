package sample

import (
	"database/sql"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

func open(kind, dsn string) (*sql.DB, error) {
	db, err := sql.Open(kind, dsn)
	if err != nil {
		return nil, err
	}
	// the pool
	db.SetMaxIdleConns(50)
	if kind == "sqlite" || kind == "UNSET" {
		db.SetMaxOpenConns(1)
	} else {
		db.SetMaxOpenConns(100)
	}

	// "timeout"
	db.SetConnMaxLifetime(time.Second * 30)

	return db, nil
}

//	db.SetMaxOpenConns(7)
