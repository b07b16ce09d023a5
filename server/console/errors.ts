/**
 * Every failure of the console's interface, in one list: stable code, HTTP status, what to do next. `docs/errors.md` is the
 * catalogue for readers; a test holds the two together.
 */
import type { ApiError } from '../../shared/inspection/api.ts'

export const CONSOLE_ERRORS = {
  CON_BAD_REQUEST: [400, 'Mend the request as the message says; /api/openapi.json describes every route.'],
  CON_KEY_MISSING: [
    400,
    'Send an Idempotency-Key header with a fresh random value, and the same value when you retry.',
  ],
  CON_TOKEN_MISSING: [
    401,
    'Send "Authorization: Bearer TOKEN" with the token that the console printed when it started.',
  ],
  CON_TOKEN_WRONG: [401, 'Use the token of this run of the console: it prints a new one at every start.'],
  CON_BAD_HOST: [403, 'Open the console under the address that it printed when it started.'],
  CON_BAD_ORIGIN: [403, 'Use the page that this console serves; other sites may not talk to it.'],
  CON_VIEWER_ONLY: [403, "Ask whoever started the console for the operator's token; a viewer's token only looks."],
  CON_READ_ONLY: [403, 'Start the console without --read-only, on a loopback address, to change anything.'],
  CON_NOT_FOUND: [404, 'Check the path; /api/openapi.json lists every route.'],
  CON_NO_SUCH_NODE: [404, 'GET /api/clusters/current lists the nodes.'],
  CON_NO_SUCH_THING: [404, 'Check the identifiers; GET /api/nodes/:id/groups lists what the node holds.'],
  CON_NOT_RECORDED: [
    404,
    'Go live to ask the nodes; a recording keeps answers at keyframes, and no bytes of segments.',
  ],
  CON_WRONG_STATE: [409, 'Look at the state of the node first; GET /api/clusters/current has it.'],
  CON_LOAD_RUNNING: [409, 'Stop the running load first.'],
  CON_LOAD_NOT_RUNNING: [409, 'Start a load first.'],
  CON_BENCH_RUNNING: [409, 'Wait for the running benchmark to end, or cancel it.'],
  CON_BENCH_NOT_RUNNING: [409, 'GET /api/bench/runs says what runs.'],
  CON_DRILL_RUNNING: [409, 'Wait for the running drill to end, or cancel it.'],
  CON_DRILL_NOT_RUNNING: [409, 'Look at the state of the run first; GET /api/drills/runs has them all.'],
  CON_TOO_LARGE: [413, 'Send less at a time.'],
  CON_KEY_REUSED: [422, 'Use a fresh Idempotency-Key for a different action.'],
  CON_REQUEST_REFUSED: [422, 'The cluster refused the request; its own code and words are in "cause".'],
  CON_INTERNAL: [500, 'This is a fault of the console. Its log has the details.'],
  CON_RECORDING_UNREADABLE: [500, 'Delete it, or look at its files; "cause" says what is wrong with them.'],
  CON_NODE_REFUSED: [502, 'The node would not start; "cause" has its reason. Nothing was written to its directory.'],
  CON_NODE_ERROR: [502, 'The node answered with an error; "cause" has it.'],
  CON_NODE_DOWN: [503, 'Start the node, or ask another one.'],
  CON_NO_NODE_SERVES: [503, 'Start enough nodes for a majority and try again; nothing was stored.'],
  CON_NOT_BUILT: [503, 'Build the page with "npm run build", or start with "npm start", which does it when needed.'],
  CON_TOO_MANY_READERS: [503, 'Close another tab of this console first.'],
  CON_STOPPING: [503, 'The console is stopping. Start it again.'],
  CON_SIGN_IN_TIMED_OUT: [
    504,
    'Nothing was sent but the sign-in. Wait until the metadata group has a primary, resume a node that is paused, and try again.',
  ],
  CON_NODE_SILENT: [504, 'The process runs and does not answer: resume it if it is paused, else wait or kill it.'],
  CON_OUTCOME_UNKNOWN: [504, 'It may have happened. Look before you repeat it.'],
  CON_START_TIMED_OUT: [504, 'Look at the log of the node; its path is in GET /api/clusters/current.'],
} as const satisfies Record<string, readonly [number, string]>
export type ConsoleErrorCode = keyof typeof CONSOLE_ERRORS

export class ConsoleError extends Error {
  readonly code: ConsoleErrorCode
  readonly origin: ApiError['cause']

  constructor(code: ConsoleErrorCode, message: string, origin?: { code: string; message: string }) {
    super(message)
    this.name = 'ConsoleError'
    this.code = code
    this.origin = origin
  }

  get statusCode(): number {
    return CONSOLE_ERRORS[this.code][0]
  }

  toJSON(): ApiError {
    const answer: ApiError = { code: this.code, message: this.message, advice: CONSOLE_ERRORS[this.code][1] }
    if (this.origin) answer.cause = this.origin
    return answer
  }
}
