/** Where the build has put what the product starts by path. */
import { fileURLToPath } from 'node:url'

/** URL of the folder. This code may stand in its own module or in a bundle: only the folder that both are in is certain. */
export const BUILT = import.meta.url.slice(0, import.meta.url.lastIndexOf('/dist/') + '/dist/'.length)

/** Absolute path of a program; `program` as in `src/process/worker.js`. */
export const builtProgram = (program: string): string => fileURLToPath(new URL(program, BUILT))
