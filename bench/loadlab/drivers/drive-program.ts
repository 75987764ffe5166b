/** The HTTP driver as a program of its own, for the runner that starts each tool in a process of its own. */
import { UsageError } from '../../harness/option-values.js'
import { driveCommand } from './drive-command.js'

driveCommand(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`drive: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(error instanceof UsageError ? 2 : 1)
  },
)
