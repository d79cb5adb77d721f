package sample

import (
	"database/sql"
	"fmt"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

const (
	// PoolMost is the most connections
	PoolMost = 25
	// PoolIdle is the most idle connections
	PoolIdle = 10
	// PoolLife is the longest lifetime
	PoolLife = 5 * time.Minute
)

func Open(settings *Settings) (*sql.DB, error) {
	handle, err := sql.Open("mysql", address(settings))
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}

	handle.SetMaxOpenConns(PoolMost)
	handle.SetMaxIdleConns(PoolIdle)
	handle.SetConnMaxLifetime(PoolLife)
	return handle, nil
}
