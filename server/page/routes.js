// The pages by their address after `#/`. A page is a module { title(params), open(root, params, app) }.
"use strict";

import { page as broker } from "./pages/broker.js";
import { page as brokers } from "./pages/brokers.js";
import { page as history } from "./pages/history.js";
import { page as job } from "./pages/job.js";
import { page as jobs } from "./pages/jobs.js";
import { page as load } from "./pages/load.js";
import { page as map } from "./pages/map.js";
import { page as overview } from "./pages/overview.js";
import { page as partition } from "./pages/partition.js";
import { page as plan } from "./pages/plan.js";
import { page as propose } from "./pages/propose.js";
import { page as settings } from "./pages/settings.js";
import { page as topic } from "./pages/topic.js";
import { page as topics } from "./pages/topics.js";

// Pages with a `label` are in the navigation, with the icon of that name. `g` and the `key` open it. `:name` stands for a part of the address.
export const ROUTES = [
  { path: "", label: "Overview", icon: "overview", key: "o", page: overview },
  { path: "map", label: "Map", icon: "map", key: "m", page: map },
  { path: "jobs", label: "Jobs", icon: "jobs", key: "j", page: jobs },
  { path: "jobs/:job", page: job },
  { path: "brokers", label: "Brokers", icon: "brokers", key: "b", page: brokers },
  { path: "brokers/:broker", page: broker },
  { path: "topics", label: "Topics", icon: "topics", key: "t", page: topics },
  { path: "topics/:topic", page: topic },
  { path: "topics/:topic/:partition", page: partition },
  { path: "load", label: "Load", icon: "load", key: "l", page: load },
  { path: "plan", label: "Plan", icon: "plan", key: "p", page: plan },
  { path: "plan/propose", page: propose },
  { path: "settings", label: "Settings", icon: "settings", key: "s", page: settings },
  { path: "history", label: "History", icon: "history", key: "h", page: history },
];
