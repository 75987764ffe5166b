/** `npm run bench -- tools`: what the comparison would find here. */
import { UsageError } from '../../harness/option-values.js'
import { findTool, TOOLS } from './catalogue.js'

export async function toolsCommand(args: readonly string[]): Promise<number> {
  if (args.length > 0) throw new UsageError(`tools takes no options, not '${args[0]}'`)
  for (const tool of TOOLS) {
    const found = findTool(tool)
    const state = found === null ? 'not installed' : (tool.unusable ?? found.version)
    process.stdout.write(`${tool.name.padEnd(14)} ${state}\n`)
    if (found === null) continue
    for (const { name, says } of tool.variants) process.stdout.write(`  ${name.padEnd(20)} ${says}\n`)
  }
  return 0
}
