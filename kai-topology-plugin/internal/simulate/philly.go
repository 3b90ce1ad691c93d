package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// phillyJob is an entry of Philly's log of jobs.
type phillyJob struct {
	ID        string  `json:"jobid"`
	Submitted *string `json:"submitted_time"`
	Attempts  []struct {
		Start  *string      `json:"start_time"`
		End    *string      `json:"end_time"`
		Detail []phillyHost `json:"detail"`
	} `json:"attempts"`
}

// phillyHost is what a job had on a host.
type phillyHost struct {
	GPUs []string `json:"gpus"`
}

// readPhilly reads a list of entries, each named by the line in which it begins.
func readPhilly(file string, from io.Reader, found *imported) error {
	text, err := io.ReadAll(from)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	entries := json.NewDecoder(bytes.NewReader(text))
	line, counted := 1, 0
	// here is the line of the next token.
	here := func() int {
		at := int(entries.InputOffset())
		at += len(text[at:]) - len(bytes.TrimLeft(text[at:], ", \t\r\n"))
		line += bytes.Count(text[counted:at], []byte("\n"))
		counted = at
		return line
	}
	if token, err := entries.Token(); err != nil || token != json.Delim('[') {
		return fmt.Errorf("%s:%d: the log has to be a list of jobs in JSON", file, here())
	}
	for entries.More() {
		at := here()
		var entry phillyJob
		err := entries.Decode(&entry)
		var mistyped *json.UnmarshalTypeError
		switch {
		case errors.As(err, &mistyped):
			found.faults.add(at, wrong(mistyped.Field, "must not be a %s", mistyped.Value))
		case err != nil:
			return fmt.Errorf("%s:%d: %w", file, at, err)
		default:
			job, err := entry.job()
			found.add(at, job, err)
		}
	}
	if _, err := entries.Token(); err != nil {
		return fmt.Errorf("%s:%d: the list of jobs does not end: %w", file, here(), err)
	}
	return nil
}

// job adds up the attempts. Pods are as large as those that the last attempt had can be, all alike.
func (p *phillyJob) job() (*traceJob, error) {
	job := &traceJob{name: p.ID}
	var err error
	if job.at, err = phillyMoment("submitted_time", p.Submitted); err != nil {
		return nil, err
	}
	total, ran := 0.0, false
	for i, attempt := range p.Attempts {
		if gpus, each := gpusOn(attempt.Detail); gpus > 0 {
			job.gpus, job.pods = each, gpus/each
		}
		if phillyText(attempt.Start) == "" {
			continue
		}
		if phillyText(attempt.End) == "" {
			if i == len(p.Attempts)-1 {
				return nil, withoutEnd
			}
			continue
		}
		start, err := phillyMoment(fmt.Sprintf("attempts[%d].start_time", i), attempt.Start)
		if err != nil {
			return nil, err
		}
		end, err := phillyMoment(fmt.Sprintf("attempts[%d].end_time", i), attempt.End)
		if err != nil {
			return nil, err
		}
		if end < start {
			return nil, wrong(fmt.Sprintf("attempts[%d].end_time", i), "is before its start_time")
		}
		total, ran = total+end-start, true
	}
	switch {
	case !ran:
		return nil, withoutStart
	case job.gpus == 0:
		return nil, withoutGPU
	}
	job.duration = &total
	return job, nil
}

func phillyText(text *string) string {
	if text == nil {
		return ""
	}
	return valueOf(*text)
}

func phillyMoment(path string, text *string) (float64, error) {
	if phillyText(text) == "" {
		return 0, wrong(path, "is missing")
	}
	return momentOf(path, *text)
}

// gpusOn are the GPUs on some hosts: all of them, and the largest number that divides those of each.
func gpusOn(hosts []phillyHost) (total, each int64) {
	for _, host := range hosts {
		gpus := int64(len(host.GPUs))
		total += gpus
		for gpus > 0 {
			each, gpus = gpus, each%gpus
		}
	}
	return total, each
}
