/** `sluice explain gen-…`: why a generation went where it went, as its row in the ledger tells. */
import type { GenerationAnswer } from '../features/generation/endpoints.js'
import { formatTable } from './command.js'

/** What the server tells of the generation, for people. */
export function formatGeneration(told: GenerationAnswer): string {
  const { phases, candidates, provider_responses: attempts, unlisted_candidates: unlisted } = told
  const head =
    `${told.id}: ${told.model} by ${told.provider_name ?? '-'}, ${told.outcome}, charged $${told.charged}, ` +
    `upstream $${told.upstream_cost} (${told.upstream_cost_basis})\n` +
    `configuration ${told.config_version ?? '-'}, prices ${told.price_version ?? '-'}; milliseconds: ` +
    `admit ${phases.admit}, queue ${phases.queue}, connect ${phases.connect}, ` +
    `first event ${phases.first_event ?? '-'}, total ${phases.total}\n`
  const chosen = candidates.map(({ place, provider_name: provider, model, probability, why }) => [
    place === null ? '-' : String(place),
    provider,
    model,
    probability === null ? '-' : probability.toFixed(3),
    why.join('; '),
  ])
  const more = unlisted > 0 ? `and ${unlisted} more\n` : ''
  const candidatesTable =
    chosen.length === 0
      ? 'one endpoint could answer\n'
      : formatTable([['', 'candidate', 'model', 'chance', 'why'], ...chosen]) + more
  const called = (attempts ?? []).map(({ provider_name: provider, model, status, error, latency }) => [
    provider,
    model,
    String(status),
    error,
    latency === null ? null : `${latency} ms`,
  ])
  const attemptsTable =
    called.length === 0
      ? ''
      : `\n${formatTable([['called', 'model', 'status', 'error', 'after'], ...called])}`
  return `${head}\n${candidatesTable}${attemptsTable}${formatParts(told)}`
}

/** The turns and tools that a request was made of; `''` where it was one turn. */
function formatParts({ rows }: GenerationAnswer): string {
  if (rows.length === 0) return ''
  const parts = rows.map(({ kind, name, provider_name: provider, outcome, charged, generation_time: ms }) => {
    return [kind, name, provider, outcome, `$${charged}`, `${ms} ms`]
  })
  return `\n${formatTable([['row', 'name', 'by', 'outcome', 'charged', 'after'], ...parts])}`
}
