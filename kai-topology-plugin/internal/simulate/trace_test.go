package simulate

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/shared/render"
)

// importOf runs the command on a file.
func importOf(t fatalError, folder, from, text string, more ...string) (stdout, stderr string, err error) {
	file := filepath.Join(folder, "trace")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	command := Command()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetOut(&out)
	command.SetErr(&errs)
	command.SetArgs(append([]string{"import", "--from", from, file}, more...))
	err = command.Execute()
	return out.String(), strings.ReplaceAll(errs.String(), folder+"/", ""), err
}

type fatalError interface{ Fatal(args ...any) }

// imports is a line that is printed.
func imports(at float64, name string, duration string, pods, gpus int) string {
	if duration != "" {
		duration = `"duration":` + duration + ","
	}
	return fmt.Sprintf(`{"at":%v,"name":%q,%s"pods":%d,"requests":{"nvidia.com/gpu":"%d"}}`+"\n", at, name, duration, pods, gpus)
}

const slurmHeading = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"

// attempt is one of Philly's, on hosts with so many GPUs.
func attempt(start, end string, gpus ...int) string {
	var detail []string
	for i, count := range gpus {
		detail = append(detail, fmt.Sprintf(`{"ip": "h%d", "gpus": [%s]}`, i, strings.TrimSuffix(strings.Repeat(`"g", `, count), ", ")))
	}
	return fmt.Sprintf(`{"start_time": %s, "end_time": %s, "detail": [%s]}`, start, end, strings.Join(detail, ", "))
}

func phillyEntry(id, submitted string, attempts ...string) string {
	return fmt.Sprintf(` {"status": "Pass", "vc": "v", "jobid": %q, "user": "u", "submitted_time": %s,`+"\n"+`  "attempts": [%s]}`,
		id, submitted, strings.Join(attempts, ", "))
}

func phillyLog(entries ...string) string { return "[\n" + strings.Join(entries, ",\n") + "\n]\n" }

const (
	morning = `"2017-10-07 01:00:00"`
	later   = `"2017-10-07 01:10:00"`
	latest  = `"2017-10-07 02:00:00"`
)

func TestTracesBecomeStreams(t *testing.T) {
	for name, test := range map[string]struct {
		from, text, want, left string
	}{
		"helios": {"helios", slurmHeading +
			"2,u,v,16,64,2,COMPLETED,2020-06-09 18:42:00,2020-06-09 18:42:00,2020-06-09 18:43:40,100,0\n" +
			"1,u,v,1,1,1,FAILED,2020-06-09 18:41:00,2020-06-09 18:41:00,2020-06-09 18:41:07,7,0\n" +
			"3,u,v,0,4,1,COMPLETED,2020-06-09 18:41:00,2020-06-09 18:41:00,2020-06-09 18:41:07,7,0\n",
			imports(0, "1", "7", 1, 1) + imports(60, "2", "100", 2, 8), "left out: 1 that ask for no GPU\n"},
		"GPUs that cannot be shared out equally": {"helios", slurmHeading +
			"1,u,v,12,1,5,FAILED,2020-06-09 18:41:00,x,x,7,0\n" + "2,u,v,12,1,8,FAILED,2020-06-09 18:41:00,x,x,7,0\n" +
			"3,u,v,2,1,8,FAILED,2020-06-09 18:41:00,x,x,7,0\n",
			imports(0, "1", "7", 6, 2) + imports(0, "2", "7", 12, 1) + imports(0, "3", "7", 2, 1), ""},
		"acme, with a zone": {"acme", "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n" +
			"7,u,1,8,128,Other,FAILED,2023-03-01 00:18:00+08:00,a,b,117,32,936.0\n" +
			"8,u,2,8.0,128,Other,FAILED,2023-02-28 16:19:00+00:00,a,b,5,32,936.0\n",
			imports(0, "7", "117", 1, 8) + imports(60, "8", "5", 2, 4), ""},
		"alibaba 2020, without a heading": {"alibaba-2020",
			"j1,worker,2.0,Terminated,100.0,160.5,600.0,29.3,50.0,MISC\n" + "j2,worker,3.0,Terminated,90.0,95.0,600.0,29.3,200.0,V100\n" +
				"j3,ps,1.0,Terminated,90.0,95.0,600.0,29.3,,\n" + "j4,ps,1.0,Waiting,,,600.0,29.3,100.0,MISC\n" +
				"j5,ps,1.0,Running,5.0,,600.0,29.3,100.0,MISC\n" + "j1,worker,1.0,Terminated,120,121,6,29.3,100.0,MISC\n",
			imports(0, "j2-worker", "5", 3, 2) + imports(10, "j1-worker", "60.5", 2, 1) + imports(30, "j1-worker-6", "1", 1, 1),
			"left out: 1 that ask for no GPU\nleft out: 1 that did not end before the trace did\nleft out: 1 that were never started\n"},
		"alibaba 2020, with a heading": {"alibaba-2020", "plan_gpu,job_name,task_name,inst_num,start_time,end_time\n100,j,t,1,5,6\n",
			imports(0, "j-t", "1", 1, 1), ""},
		"alibaba 2023": {"alibaba-2023", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n" +
			"p1,88000,1,8,1000,,BE,Succeeded,1000,1300,1100\n" + "p2,4000,1,1,220,V100M16|V100M32,LS,Running,1010,1020,1010\n" +
			"p3,4000,1,0,0,,LS,Running,1010,1020,1010\n" + "p4,4000,1,1,1000,,LS,Pending,1010,,\n",
			imports(0, "p1", "200", 1, 8) + imports(10, "p2", "10", 1, 1), "left out: 1 that ask for no GPU\nleft out: 1 that were never started\n"},
		"alibaba 2025: there before, and there after": {"alibaba-2025", "instance_sn,role,app_name,gpu_request,creation_time,scheduled_time,deletion_time\n" +
			",,,,,,\n" + "i1,HN,a,1,,,50.0\n" + "i2,HN,a,2,20.0,20.0,\n" + "i3,CN,a,0,20.0,20.0,\n" + "i4,HN,a,1,NaN,NaN,NaN\n",
			imports(0, "i1", "50", 1, 1) + imports(0, "i4", "", 1, 1) + imports(20, "i2", "", 1, 2), "left out: 1 that ask for no GPU\n"},
		"philly": {"philly", phillyLog(
			phillyEntry("late", later, attempt(later, latest, 8, 8)),
			phillyEntry("twice", morning, attempt(morning, later, 4), attempt(later, latest, 8, 4)),
			phillyEntry("never", morning),
			phillyEntry("lost", morning, attempt(`null`, `"None"`, 4)),
			phillyEntry("running", morning, attempt(morning, later, 4), attempt(later, `null`, 4)),
			phillyEntry("a gap", morning, attempt(morning, `null`, 2), attempt(later, latest, 2)),
			phillyEntry("cpu", morning, attempt(morning, later)),
		), imports(0, "twice", "3600", 3, 4) + imports(0, "a gap", "3000", 1, 2) + imports(600, "late", "3000", 2, 8),
			"left out: 1 that ask for no GPU\nleft out: 1 that did not end before the trace did\nleft out: 2 that were never started\n"},
		"no jobs": {"philly", "[]", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := importOf(t, t.TempDir(), test.from, test.text)
			if err != nil {
				t.Fatal(err, stderr)
			}
			if diff := cmp.Diff(test.want, stdout); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.left, stderr); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBrokenTracesAreNamedByLine(t *testing.T) {
	good := "1,u,v,1,1,1,FAILED,2020-06-09 18:41:00,a,b,7,0\n"
	row := func(gpus, nodes, submitted, duration string) string {
		return "2,u,v," + gpus + ",1," + nodes + ",FAILED," + submitted + ",a,b," + duration + ",0\n"
	}
	const moment = "2020-06-09 18:41:00"
	openb := "name,num_gpu,creation_time,deletion_time,scheduled_time\n"
	for name, test := range map[string]struct{ from, text, want string }{
		"not a number of GPUs":     {"helios", slurmHeading + good + row("many", "1", moment, "1"), `trace:3: gpu_num: "many" is no number from 0 to 1e+11`},
		"fewer GPUs than none":     {"helios", slurmHeading + good + row("-1", "1", moment, "1"), `trace:3: gpu_num: "-1" is no number`},
		"no number of GPUs":        {"helios", slurmHeading + good + row("", "1", moment, "1"), "trace:3: gpu_num: is missing"},
		"no nodes":                 {"helios", slurmHeading + good + row("1", "0", moment, "1"), "trace:3: node_num: is 0"},
		"another way to say when":  {"helios", slurmHeading + good + row("1", "1", "9 June", "1"), `trace:3: submit_time: "9 June" is no moment`},
		"a negative duration":      {"helios", slurmHeading + good + row("1", "1", moment, "-7"), `trace:3: duration: "-7" is no number`},
		"no duration":              {"helios", slurmHeading + good + row("1", "1", moment, "NaN"), "trace:3: duration: is missing"},
		"a column is missing":      {"helios", "job_id,gpu_num\n1,2\n", "trace:1: there is no column node_num"},
		"a field too many":         {"helios", slurmHeading + good + "1,2\n", "trace:3: wrong number of fields"},
		"a quote that never ends":  {"helios", slurmHeading + good + `"1,2` + "\n", "trace:3: "},
		"no name":                  {"alibaba-2023", openb + ",1,5,6,5\n", "trace:2: the job has no name"},
		"over before it began":     {"alibaba-2023", openb + "p,1,5,6,7\n", "trace:2: deletion_time: is 6, before scheduled_time, which is 7"},
		"too few columns":          {"alibaba-2020", "a,b,c\n", "trace:1: there are 3 columns, and pai_task_table.csv has 10"},
		"no instances":             {"alibaba-2020", "j,t,0,Terminated,1,2,6,2,100,M\n", "trace:1: the job has 0 pods"},
		"deleted before created":   {"alibaba-2025", "instance_sn,gpu_request,creation_time,deletion_time\ni,1,9,8\n", "trace:2: the job ran for -1 seconds"},
		"not JSON":                 {"philly", "job 1\n", "trace:1: the log has to be a list of jobs in JSON"},
		"JSON that breaks off":     {"philly", "[\n" + phillyEntry("a", morning, attempt(morning, later, 1)) + ",\n {\"jobid\":", "trace:4: "},
		"a list that does not end": {"philly", "[\n" + phillyEntry("a", morning, attempt(morning, later, 1)), "trace:3: "},
		"a job that is a number":   {"philly", phillyLog(phillyEntry("a", morning, attempt(morning, later, 1)), "7"), "trace:4: "},
		"a name that is a number":  {"philly", phillyLog(phillyEntry("a", morning, attempt(morning, later, 1)), `{"jobid": 7}`), "trace:4: jobid: must not be a number"},
		"no moment of submission":  {"philly", phillyLog(phillyEntry("a", `null`, attempt(morning, later, 1))), "trace:2: submitted_time: is missing"},
		"an attempt without order": {"philly", phillyLog(phillyEntry("a", morning, attempt(later, morning, 1))), "trace:2: attempts[0].end_time: is before its start_time"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := importOf(t, t.TempDir(), test.from, test.text)
			var coder render.Coder
			if !errors.As(err, &coder) || coder.ExitCode() != render.ExitRejected || stdout != "" || !strings.HasPrefix(stderr, test.want) {
				t.Errorf("error %v, printed %q, told %q, want %q", err, stdout, stderr, test.want)
			}
		})
	}
	_, stderr, _ := importOf(t, t.TempDir(), "helios", slurmHeading+strings.Repeat(row("x", "1", moment, "1"), 250))
	if lines := strings.Split(strings.TrimSpace(stderr), "\n"); len(lines) != 101 || lines[100] != "trace: 150 more lines are wrong" {
		t.Errorf("%d lines, of which the last is %q", len(lines), lines[len(lines)-1])
	}
	if _, _, err := importOf(t, t.TempDir(), "borg", ""); err == nil || !strings.Contains(err.Error(), "--from is one of acme, alibaba-2020") {
		t.Errorf("an unknown trace: %v", err)
	}
}

// Whatever jobs are like, what is printed is a stream, and has their GPU-seconds.
func TestALevelOfAnImportNeedsItsTopology(t *testing.T) {
	stdout, _, err := importOf(t, t.TempDir(), "helios", slurmHeading, "--preferred", "l/rack")
	if want := "--topology is missing"; err == nil || !strings.Contains(err.Error(), want) || stdout != "" {
		t.Errorf("printed %.100q, error %v, want %s", stdout, err, want)
	}
}

func TestNoGPUIsLostInImport(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(r *rapid.T) {
		text, want := slurmHeading, int64(0)
		for i := range rapid.IntRange(1, 20).Draw(r, "jobs") {
			gpus, nodes := rapid.Int64Range(0, 64).Draw(r, "gpus"), rapid.Int64Range(1, 9).Draw(r, "nodes")
			duration := rapid.Int64Range(0, 1000).Draw(r, "duration")
			text += fmt.Sprintf("%d,u,v,%d,1,%d,FAILED,2020-06-09 18:%02d:00,a,b,%d,0\n", i, gpus, nodes, rapid.IntRange(0, 59).Draw(r, "minute"), duration)
			want += gpus * duration
		}
		stdout, stderr, err := importOf(r, folder, "helios", text, "--resource", "example.com/gpu")
		if err != nil {
			r.Fatal(err, stderr)
		}
		stream, err := Read("imported", strings.NewReader(stdout), inventory.New())
		if err != nil {
			r.Fatal(err)
		}
		got := 0.0
		for _, event := range stream {
			each := event.Job.shape.containers[0].Resources.Requests["example.com/gpu"]
			got += float64(event.Job.shape.count) * float64(each.Value()) * event.Job.Duration
		}
		if got != float64(want) {
			r.Fatalf("the stream has %v GPU-seconds, the trace %d\n%s", got, want, stdout)
		}
	})
}
