/** What functions of MCP servers are called: `label__tool`, within what providers take. */
import { hash } from 'node:crypto'

const LONGEST_NAME = 64
const MARK_CHARS = 8

/**
 * Names in the order of the tools, all different: where characters had to be replaced, where a name is too long, and
 * where two would be the same, a mark of label and tool stands at the end.
 */
export function functionNames(label: string, tools: readonly string[]): readonly string[] {
  const taken = new Set<string>()
  return tools.map((tool) => {
    const plain = `${label}__${tool}`
    const clean = plain.replaceAll(/[^A-Za-z0-9_-]/g, '_')
    let name = clean
    for (let attempt = 0; name.length > LONGEST_NAME || name !== plain || taken.has(name); attempt++) {
      const mark = hash('sha256', `${label}\n${tool}\n${attempt}`, 'hex').slice(0, MARK_CHARS)
      name = `${clean.slice(0, LONGEST_NAME - MARK_CHARS - 1)}_${mark}`
      if (!taken.has(name)) break
    }
    taken.add(name)
    return name
  })
}
