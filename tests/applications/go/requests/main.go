// Requests for a connection of database/sql, a goroutine for each, that arrive at the times of plans. DSN is the
// database. With the argument oltp_read_write, a request runs such a transaction in place of a sleep. Input and output
// are those of tests/queue_pool_requests.py.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sys/unix"
)

const (
	warmUp    = 200 // uses in all of a pool before its first request
	rows      = 10_000
	rangeRows = 100
	deadlock  = 1213 // MySQL has rolled the transaction back
)

var ranges = []string{
	"SELECT c FROM shop.sbtest1 WHERE id BETWEEN %d AND %d",
	"SELECT SUM(k) FROM shop.sbtest1 WHERE id BETWEEN %d AND %d",
	"SELECT c FROM shop.sbtest1 WHERE id BETWEEN %d AND %d ORDER BY c",
	"SELECT DISTINCT c FROM shop.sbtest1 WHERE id BETWEEN %d AND %d ORDER BY c",
}

type request struct {
	due, sleep        float64
	asked, got, given time.Time
}

type use func(connection *sql.Conn, seconds float64)

func main() {
	use := use(sleep)
	if len(os.Args) > 1 {
		use = readWrite
	}
	lines, pools := bufio.NewScanner(os.Stdin), map[int]*sql.DB{}
	for lines.Scan() {
		var size, atOnce int
		_, err := fmt.Sscan(lines.Text(), &size, &atOnce)
		check(err)
		plan := read(lines)
		if pools[size] == nil {
			pools[size] = open(size, use)
		}
		begin := run(pools[size], atOnce, plan, use)
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
		var each request
		_, err := fmt.Sscan(lines.Text(), &each.due, &each.sleep)
		check(err)
		plan = append(plan, each)
	}
	return plan
}

// open returns a pool, all of whose connections have been used.
func open(size int, use use) *sql.DB {
	pool, err := sql.Open("mysql", os.Getenv("DSN"))
	check(err)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	var connections []*sql.Conn
	for range size {
		connection, err := pool.Conn(context.Background())
		check(err)
		connections = append(connections, connection)
	}
	for _, connection := range connections {
		for range warmUp / size {
			use(connection, 0)
		}
		connection.Close()
	}
	return pool
}

// run runs the requests, and returns the time of its begin.
func run(pool *sql.DB, atOnce int, plan []request, use use) time.Time {
	var requests sync.WaitGroup
	places, alarm, begin := make(chan struct{}, atOnce), newAlarm(), time.Now()
	defer alarm.file.Close()
	for number := range plan {
		next := &plan[number]
		alarm.sleepUntil(begin.Add(time.Duration(next.due * float64(time.Second))))
		places <- struct{}{}
		requests.Add(1)
		go func() {
			defer requests.Done()
			next.asked = time.Now()
			connection, err := pool.Conn(context.Background())
			next.got = time.Now()
			check(err)
			use(connection, next.sleep)
			connection.Close()
			next.given = time.Now()
			<-places
		}()
	}
	requests.Wait()
	return begin
}

// alarm is a timer of the kernel. Go's own have a resolution of about 1 ms, so requests would arrive in groups.
type alarm struct {
	descriptor int
	file       *os.File
}

func newAlarm() alarm {
	descriptor, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK)
	check(err)
	return alarm{descriptor, os.NewFile(uintptr(descriptor), "timer")}
}

func (alarm alarm) sleepUntil(due time.Time) {
	if left := time.Until(due); left > 0 {
		once := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}
		check(unix.TimerfdSettime(alarm.descriptor, 0, &once, nil))
		_, err := alarm.file.Read(make([]byte, 8))
		check(err)
	}
}

func sleep(connection *sql.Conn, seconds float64) {
	check(execute(connection, fmt.Sprintf("DO SLEEP(%f)", seconds)))
}

// readWrite runs the 20 queries of sysbench's oltp_read_write.
func readWrite(connection *sql.Conn, _ float64) {
	queries := []string{"BEGIN"}
	for range 10 {
		queries = append(queries, fmt.Sprintf("SELECT c FROM shop.sbtest1 WHERE id=%d", key()))
	}
	for _, query := range ranges {
		first := key()
		queries = append(queries, fmt.Sprintf(query, first, first+rangeRows-1))
	}
	replaced := key()
	queries = append(queries,
		fmt.Sprintf("UPDATE shop.sbtest1 SET k=k+1 WHERE id=%d", key()),
		fmt.Sprintf("UPDATE shop.sbtest1 SET c='%s' WHERE id=%d", digits(10), key()),
		fmt.Sprintf("DELETE FROM shop.sbtest1 WHERE id=%d", replaced),
		fmt.Sprintf("INSERT INTO shop.sbtest1 VALUES (%d, %d, '%s', '%s')", replaced, key(), digits(10), digits(5)),
		"COMMIT",
	)
	for _, query := range queries {
		if err := execute(connection, query); err != nil {
			var refused *mysql.MySQLError
			if errors.As(err, &refused) && refused.Number == deadlock {
				return
			}
			check(err)
		}
	}
}

func execute(connection *sql.Conn, query string) error {
	_, err := connection.ExecContext(context.Background(), query)
	return err
}

func key() int {
	return 1 + rand.IntN(rows)
}

func digits(groups int) string {
	var numbers []string
	for range groups {
		numbers = append(numbers, fmt.Sprintf("%011d", rand.Int64N(100_000_000_000)))
	}
	return strings.Join(numbers, "-")
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
