package sample

import (
	"database/sql"
	"time"

	"example.org/sample/config"
	"example.org/sample/sqltools"
)

func openServer() (db *sql.DB, err error) {
	if config.Config.UseSQLite {
		db, err = sqltools.OpenSQLite(config.Config.File)
		db.SetMaxOpenConns(1)
		db.SetMaxIdleConns(1)
	} else {
		db, err = sqltools.OpenMySQL(mysqlURI())
		if config.Config.MaxPoolConnections > 0 {
			db.SetMaxOpenConns(config.Config.MaxPoolConnections)
		}
		if config.Config.LifetimeSeconds > 0 {
			db.SetConnMaxLifetime(time.Duration(config.Config.LifetimeSeconds) * time.Second)
		}
	}
	maxIdle := int(config.Config.MaxPoolConnections * 25 / 100)
	if maxIdle < 10 {
		maxIdle = 10
	}
	db.SetMaxIdleConns(maxIdle)
	return db, err
}
