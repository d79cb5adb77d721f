// Requests for a connection of database/sql, a goroutine for each, that arrive at the times of plans. DSN is the
// database. Input and output are those of tests/queue_pool_requests.py.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

type request struct {
	due               time.Duration
	query             string
	asked, got, given time.Time
}

func main() {
	lines, pools := bufio.NewScanner(os.Stdin), map[int]*sql.DB{}
	for lines.Scan() {
		size, err := strconv.Atoi(lines.Text())
		check(err)
		plan := read(lines)
		if pools[size] == nil {
			pools[size] = open(size)
		}
		begin := run(pools[size], plan)
		for _, done := range plan {
			fmt.Println(done.asked.Sub(begin).Seconds(), done.got.Sub(begin).Seconds(), done.given.Sub(begin).Seconds())
		}
		fmt.Println()
	}
}

// read returns the requests of a plan.
func read(lines *bufio.Scanner) []request {
	var plan []request
	for lines.Scan() && lines.Text() != "" {
		seconds, query, _ := strings.Cut(lines.Text(), " ")
		due, err := time.ParseDuration(seconds + "s")
		check(err)
		plan = append(plan, request{due: due, query: query})
	}
	return plan
}

func open(size int) *sql.DB {
	pool, err := sql.Open("mysql", os.Getenv("DSN"))
	check(err)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	return pool
}

// run runs the requests, and returns the time of its begin.
func run(pool *sql.DB, plan []request) time.Time {
	var requests sync.WaitGroup
	begin := time.Now()
	for number := range plan {
		next := &plan[number]
		time.Sleep(time.Until(begin.Add(next.due)))
		requests.Add(1)
		go func() {
			defer requests.Done()
			next.asked = time.Now()
			connection, err := pool.Conn(context.Background())
			next.got = time.Now()
			check(err)
			_, err = connection.ExecContext(context.Background(), next.query)
			check(err)
			connection.Close()
			next.given = time.Now()
		}()
	}
	requests.Wait()
	return begin
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
