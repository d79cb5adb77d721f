// The task service: net/http and database/sql. Its argument is the port; DSN and POOL_SIZE configure the pool.
// HASHES is the work of each request beside the database, in SHA-256 hashes of 4 KiB. USES is a file to which each
// request for the newest tasks appends when it asked for its connection and when it gave it back, in Unix seconds.
package main

import (
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func main() {
	size, err := strconv.Atoi(os.Getenv("POOL_SIZE"))
	if err != nil {
		log.Fatal(err)
	}
	hashes, _ := strconv.Atoi(os.Getenv("HASHES"))
	uses, _ := os.OpenFile(os.Getenv("USES"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	database, err := sql.Open("mysql", os.Getenv("DSN"))
	if err != nil {
		log.Fatal(err)
	}
	database.SetMaxOpenConns(size)
	database.SetMaxIdleConns(size)
	prometheus.MustRegister(collectors.NewDBStatsCollector(database, "shop"))
	http.Handle("GET /metrics", promhttp.Handler())
	http.HandleFunc("GET /health", func(answer http.ResponseWriter, _ *http.Request) {
		if err := database.Ping(); err != nil {
			http.Error(answer, err.Error(), http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("POST /tasks", func(answer http.ResponseWriter, _ *http.Request) {
		work(hashes)
		identifier := make([]byte, 16)
		rand.Read(identifier)
		if _, err := database.Exec("INSERT INTO tasks (task_id) VALUES (?)", hex.EncodeToString(identifier)); err != nil {
			http.Error(answer, err.Error(), http.StatusInternalServerError)
		}
	})
	http.HandleFunc("GET /tasks", func(answer http.ResponseWriter, _ *http.Request) {
		work(hashes)
		asked := time.Now()
		tasks, err := newest(database)
		fmt.Fprintf(uses, "%.6f %.6f\n", unix(asked), unix(time.Now()))
		if err != nil {
			http.Error(answer, err.Error(), http.StatusInternalServerError)
			return
		}
		json.NewEncoder(answer).Encode(tasks)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}

func work(hashes int) {
	block := make([]byte, 4096)
	for range hashes {
		digest := sha256.Sum256(block)
		copy(block, digest[:])
	}
}

func unix(moment time.Time) float64 {
	return float64(moment.UnixMicro()) / 1e6
}

func newest(database *sql.DB) ([]string, error) {
	rows, err := database.Query("SELECT task_id FROM tasks ORDER BY id DESC LIMIT 10")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	tasks := []string{}
	for rows.Next() {
		var task string
		if err := rows.Scan(&task); err != nil {
			return nil, err
		}
		tasks = append(tasks, task)
	}
	return tasks, rows.Err()
}
