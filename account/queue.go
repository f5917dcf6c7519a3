package account

import (
	"context"
	"sync"
	"time"
)

// Limits of background tasks.
const (
	queueLength = 1024             // further tasks are dropped
	mailWorkers = 4                // mails sent at once
	mailTime    = 30 * time.Second // one mail, with its look-up
	logTime     = 10 * time.Second // one entry in the security log
	closeTime   = 5 * time.Second  // all queued tasks, when the queue closes
)

// A queue runs tasks in the background, so that the time they take does not show in the answer.
type queue struct {
	mu     sync.Mutex // of closed, and of sending on tasks
	closed bool
	tasks  chan func(context.Context)
	stop   context.CancelFunc
	done   sync.WaitGroup
}

func newQueue(workers int, limit time.Duration) *queue {
	ctx, stop := context.WithCancel(context.Background())
	q := &queue{tasks: make(chan func(context.Context), queueLength), stop: stop}
	for range workers {
		q.done.Go(func() {
			for task := range q.tasks {
				one, cancel := context.WithTimeout(ctx, limit)
				task(one)
				cancel()
			}
		})
	}
	return q
}

// add queues a task without waiting. It reports false if the queue is full or closed.
func (q *queue) add(task func(context.Context)) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	select {
	case q.tasks <- task:
		return true
	default:
		return false
	}
}

// close waits for the queued tasks; after closeTime it cancels them.
func (q *queue) close() {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.tasks)
	}
	q.mu.Unlock()
	timer := time.AfterFunc(closeTime, q.stop)
	q.done.Wait()
	timer.Stop()
	q.stop()
}
