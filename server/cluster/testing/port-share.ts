/** Test files run side by side, and each starts clusters: its worker has ports that no other one chooses. */
import { PORT_SHARE } from '../free-ports.ts'

/** No fewer than workers. */
const SHARES = 4

process.env[PORT_SHARE] = `${process.env.VITEST_POOL_ID ?? 1}/${SHARES}`
