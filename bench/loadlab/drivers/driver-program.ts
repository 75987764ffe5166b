/**
 * Our drivers as a program, for the runner that starts each tool in a process of its own. The first argument is which:
 * `drive` or `drive-stream`.
 */
import { UsageError } from '../../harness/option-values.js'
import { driveCommand } from './drive-command.js'
import { driveStreamCommand } from './drive-stream-command.js'

const [name, ...args] = process.argv.slice(2)
const command = name === 'drive-stream' ? driveStreamCommand : driveCommand
command(args).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(error instanceof UsageError ? 2 : 1)
  },
)
