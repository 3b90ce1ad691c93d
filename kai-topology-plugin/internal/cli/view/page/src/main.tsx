import { render } from "preact";
import { App } from "./app";
import { source } from "./source";

render(<App source={source()} />, document.getElementById("page")!);
