#!/usr/bin/env node
/** The entry of the program: sees to it that the rest can be read. */
import { writeSync } from 'node:fs'
import { openFilesLimit } from './process/open-files.js'
import { unsupportedNode } from './process/supported-node.js'

/** So many files are open at once while modules are loaded; measured: more than 24, fewer than 32. */
const LEAST_OPEN_FILES = 64

const limit = openFilesLimit()
const unsupported = unsupportedNode(process.versions.node)
if (unsupported !== null) {
  writeSync(2, `sluice: ${unsupported}\n`)
  process.exitCode = 2
} else if (limit < LEAST_OPEN_FILES) {
  const problem = `${limit} files may be open at once, and ${LEAST_OPEN_FILES} are needed to begin with: raise the limit`
  writeSync(2, `bad setting: ulimit -n: ${problem}\n`)
  process.exitCode = 2
} else {
  await import('./command-line.js')
}
