import { fileURLToPath } from 'node:url'

/** The module that threads of the CPU pool run. */
export const POOL_THREAD_MODULE = fileURLToPath(new URL('../../workers/thread.js', import.meta.url))
