package simulate

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// traceJob is a job of a public trace: pods that ask for so many GPUs each.
type traceJob struct {
	name string
	// at is when the job was submitted, in seconds from any moment, and duration how long it ran; nil if it does not
	// end.
	at       float64
	duration *float64
	pods     int64
	gpus     int64
}

// leftOut is why a job of a trace is not imported, in the words of a sentence about several of them. It is no mistake.
type leftOut string

func (l leftOut) Error() string { return string(l) }

const (
	withoutGPU   = leftOut("ask for no GPU")
	withoutStart = leftOut("were never started")
	withoutEnd   = leftOut("did not end before the trace did")
)

// trace is how a public trace is written. Those in columns have a heading, or names that were published apart.
type trace struct {
	// file is the one of its files that is read.
	file string
	// columns are those that are read, and heading all of them, in a file that does not name them itself.
	columns, heading []string
	row              func(row traceRow) (*traceJob, error)
	// read is for a trace that is not in columns.
	read func(file string, from io.Reader, found *imported) error
}

var slurmColumns = []string{"job_id", "node_num", "gpu_num", "submit_time", "duration"}

// traces are by the name of --from.
var traces = map[string]trace{
	"philly": {file: "cluster_job_log", read: readPhilly},
	"helios": {file: "cluster_log.csv", columns: slurmColumns, row: slurmJob},
	"acme":   {file: "trace_seren.csv or trace_kalos.csv", columns: slurmColumns, row: slurmJob},
	"alibaba-2020": {
		file:    "pai_task_table.csv",
		columns: []string{"job_name", "task_name", "inst_num", "start_time", "end_time", "plan_gpu"},
		heading: []string{
			"job_name", "task_name", "inst_num", "status", "start_time", "end_time",
			"plan_cpu", "plan_mem", "plan_gpu", "gpu_type",
		},
		row: paiTask,
	},
	"alibaba-2023": {
		file:    "openb_pod_list_*.csv",
		columns: []string{"name", "num_gpu", "creation_time", "deletion_time", "scheduled_time"},
		row:     openbPod,
	},
	"alibaba-2025": {
		file:    "disaggregated_DLRM_trace.csv",
		columns: []string{"instance_sn", "gpu_request", "creation_time", "deletion_time"},
		row:     dlrmInstance,
	},
}

// imported are the jobs of a trace, in its order.
type imported struct {
	jobs []*traceJob
	// left counts those that were left out by why, and faults has lines that cannot be read.
	left   map[leftOut]int
	faults faults
	names  map[string]bool
}

// add takes what a line says: a job, or why there is none.
func (i *imported) add(line int, job *traceJob, err error) {
	var left leftOut
	switch {
	case errors.As(err, &left):
		i.left[left]++
		return
	case err == nil:
		err = job.check()
	}
	if err != nil {
		i.faults.add(line, err)
		return
	}
	if i.names[job.name] {
		job.name += "-" + strconv.Itoa(line)
	}
	i.names[job.name] = true
	i.jobs = append(i.jobs, job)
}

func (j *traceJob) check() error {
	switch {
	case j.name == "":
		return errors.New("the job has no name")
	case j.duration != nil && (*j.duration < 0 || *j.duration > maxSeconds):
		return fmt.Errorf("the job ran for %v seconds", *j.duration)
	case j.pods < 1 || j.pods > math.MaxInt32:
		return fmt.Errorf("the job has %d pods", j.pods)
	}
	return nil
}

// importTrace reads a trace. The error names the lines that are wrong.
func importTrace(of trace, file string, from io.Reader) (*imported, error) {
	found := &imported{left: map[leftOut]int{}, names: map[string]bool{}, faults: faults{file: file}}
	read := of.read
	if read == nil {
		read = of.readRows
	}
	if err := read(file, from, found); err != nil {
		return nil, err
	}
	return found, found.faults.err()
}

// traceRow is a row of a trace in columns.
type traceRow struct {
	fields  []string
	columns map[string]int
}

func (t trace) readRows(file string, from io.Reader, found *imported) error {
	rows := csv.NewReader(from)
	rows.ReuseRecord = true
	row := traceRow{}
	for {
		fields, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var wrong *csv.ParseError
		if errors.As(err, &wrong) {
			found.faults.add(wrong.Line, wrong.Err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		line, _ := rows.FieldPos(0)
		if row.columns == nil {
			first := t.heading != nil && !slices.Contains(fields, t.columns[0])
			if row.columns, err = t.columnsOf(fields); err != nil {
				return fmt.Errorf("%s:%d: %w", file, line, err)
			}
			if !first {
				continue
			}
		}
		if row.fields = fields; strings.Join(fields, "") != "" {
			job, err := t.row(row)
			found.add(line, job, err)
		}
	}
}

// columnsOf is where the columns are, by the first row of a file.
func (t trace) columnsOf(first []string) (map[string]int, error) {
	names := first
	if t.heading != nil && !slices.Contains(first, t.columns[0]) {
		if names = t.heading; len(first) != len(names) {
			return nil, fmt.Errorf("there are %d columns, and %s has %d", len(first), t.file, len(names))
		}
	}
	columns := map[string]int{}
	for _, name := range t.columns {
		at := slices.IndexFunc(names, func(given string) bool { return strings.TrimPrefix(given, "\ufeff") == name })
		if at < 0 {
			has := strings.Join(t.columns, ", ")
			return nil, fmt.Errorf("there is no column %s: %s of the trace has %s", name, t.file, has)
		}
		columns[name] = at
	}
	return columns, nil
}

// text is a field, "" if it has no value.
func (r traceRow) text(column string) string {
	return valueOf(r.fields[r.columns[column]])
}

// valueOf is a value as traces write it, "" for the words by which they say that there is none.
func valueOf(text string) string {
	if text = strings.TrimSpace(text); slices.Contains([]string{"nan", "none", "null"}, strings.ToLower(text)) {
		return ""
	}
	return text
}

// number is a field, and whether it has a value.
func (r traceRow) number(column string) (value float64, given bool, err error) {
	text := r.text(column)
	if text == "" {
		return 0, false, nil
	}
	value, err = strconv.ParseFloat(text, 64)
	if err != nil || !(value >= 0 && value <= maxSeconds) {
		return 0, false, wrong(column, "%q is no number from 0 to %g", text, maxSeconds)
	}
	return value, true, nil
}

// numbers are fields that all have to have a value.
func (r traceRow) numbers(columns ...string) (values []float64, err error) {
	for _, column := range columns {
		value, given, err := r.number(column)
		if err != nil {
			return nil, err
		}
		if !given {
			return nil, wrong(column, "is missing")
		}
		values = append(values, value)
	}
	return values, nil
}

// momentOf reads a date and a time of day, of UTC where no zone is named, as seconds.
func momentOf(path, text string) (float64, error) {
	for _, layout := range []string{time.DateTime, "2006-01-02 15:04:05Z07:00"} {
		if read, err := time.Parse(layout, text); err == nil {
			return float64(read.Unix()), nil
		}
	}
	return 0, wrong(path, "%q is no moment such as 2020-06-09 18:41:01", text)
}

// slurmJob is a row of Helios or Acme: GPUs of the job, and over how many nodes they are.
func slurmJob(row traceRow) (*traceJob, error) {
	values, err := row.numbers("gpu_num", "node_num", "duration")
	if err != nil {
		return nil, err
	}
	gpus, nodes := int64(values[0]), int64(values[1])
	switch {
	case gpus == 0:
		return nil, withoutGPU
	case nodes == 0:
		return nil, wrong("node_num", "is 0")
	}
	job := &traceJob{name: row.text("job_id"), duration: &values[2]}
	if job.at, err = momentOf("submit_time", row.text("submit_time")); err != nil {
		return nil, err
	}
	// Pods of a gang of which only numbers are given are alike.
	job.gpus = max(1, gpus/nodes)
	for gpus%job.gpus > 0 {
		job.gpus--
	}
	job.pods = gpus / job.gpus
	return job, nil
}

// paiTask is a row of Alibaba's table of tasks: instances, and the percents of GPUs that each asks for.
func paiTask(row traceRow) (*traceJob, error) {
	gpus, _, err := row.number("plan_gpu")
	if err != nil {
		return nil, err
	}
	if gpus == 0 {
		return nil, withoutGPU
	}
	job := &traceJob{name: row.text("job_name") + "-" + row.text("task_name"), gpus: int64(math.Ceil(gpus / 100))}
	instances, err := row.numbers("inst_num")
	if err != nil {
		return nil, err
	}
	job.pods = int64(instances[0])
	return row.timed(job, "start_time", "start_time", "end_time")
}

// openbPod is a row of Alibaba's list of pods.
func openbPod(row traceRow) (*traceJob, error) {
	gpus, _, err := row.number("num_gpu")
	if err != nil {
		return nil, err
	}
	if gpus == 0 {
		return nil, withoutGPU
	}
	job := &traceJob{name: row.text("name"), pods: 1, gpus: int64(gpus)}
	return row.timed(job, "creation_time", "scheduled_time", "deletion_time")
}

// timed adds when a job arrived, and how long it ran.
func (r traceRow) timed(job *traceJob, arrived, started, ended string) (*traceJob, error) {
	start, was, err := r.number(started)
	if err != nil {
		return nil, err
	}
	end, over, err := r.number(ended)
	switch {
	case err != nil:
		return nil, err
	case !was:
		return nil, withoutStart
	case !over:
		return nil, withoutEnd
	case end < start:
		return nil, wrong(ended, "is %v, before %s, which is %v", end, started, start)
	}
	at, err := r.numbers(arrived)
	if err != nil {
		return nil, err
	}
	duration := end - start
	job.at, job.duration = at[0], &duration
	return job, nil
}

// dlrmInstance is a row of Alibaba's inference instances. One that was there before the trace begins has no moment at
// which it was created, and one that is there when the trace ends none at which it was deleted.
func dlrmInstance(row traceRow) (*traceJob, error) {
	gpus, _, err := row.number("gpu_request")
	if err != nil {
		return nil, err
	}
	if gpus == 0 {
		return nil, withoutGPU
	}
	job := &traceJob{name: row.text("instance_sn"), pods: 1, gpus: int64(gpus)}
	if job.at, _, err = row.number("creation_time"); err != nil {
		return nil, err
	}
	deleted, is, err := row.number("deletion_time")
	if err != nil {
		return nil, err
	}
	if is {
		duration := deleted - job.at
		job.duration = &duration
	}
	return job, nil
}
