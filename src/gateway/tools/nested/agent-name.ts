/** What a model calls an agent by: `advisor`, or `advisor_lead_architect` for the one named `Lead Architect`. */

const LONGEST_NAME = 64

export function agentFunction(tool: string, name: unknown): string {
  if (typeof name !== 'string') return tool
  const word = name.trim().replaceAll(/\s+/g, '_')
  return word === '' ? tool : `${tool}_${word}`.slice(0, LONGEST_NAME)
}
