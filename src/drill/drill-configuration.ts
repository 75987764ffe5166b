/** The configuration of a gateway that is to be drilled: the faulty provider is all it knows. */
import { DEAD_PORT, type EndpointRole, providerSlugOf, ROLE_NAMES, ROLES } from './roles.js'
import type { DrillModel } from './scenario.js'
import { SCENARIOS } from './scenarios.js'

/** The members of the configuration file, for a faulty provider that listens on this port of 127.0.0.1. */
export function drillConfiguration(providerPort: number): Record<string, unknown> {
  return {
    // As often as the drill wants to see it: an operator's budget may be used up when the scenario comes.
    routing: { retries: 2, retry_wait_ms: 2_500, retry_budget: 1 },
    providers: Object.fromEntries(
      ROLE_NAMES.map((role) => [providerSlugOf(role), providerSettings(role, providerPort)]),
    ),
    models: Object.fromEntries(
      SCENARIOS.flatMap(({ models }) => models.map((model) => [model.id, modelSettings(model)])),
    ),
  }
}

function providerSettings(role: EndpointRole, providerPort: number): object {
  const { name, breaker, patienceMs } = ROLES[role]
  const port = role === 'dead' ? DEAD_PORT : providerPort
  return {
    kind: 'openai',
    name,
    base_url: `http://127.0.0.1:${port}/${role}/v1`,
    breaker,
    timeouts: {
      connect_ms: 1_000,
      headers_ms: patienceMs,
      first_token_ms: patienceMs,
      idle_ms: patienceMs,
      total_ms: 2 * patienceMs,
    },
  }
}

function modelSettings({ endpoints, contextLength }: DrillModel): object {
  return {
    ...(contextLength === undefined ? {} : { context_length: contextLength }),
    endpoints: endpoints.map((role) => {
      const { prompt, completion } = ROLES[role].prices
      const prices = { prompt: dollarsPerToken(prompt), completion: dollarsPerToken(completion) }
      return { provider: providerSlugOf(role), prices }
    }),
  }
}

function dollarsPerToken(dollarsPerMillion: number): string {
  return `0.${String(dollarsPerMillion).padStart(6, '0')}`
}
