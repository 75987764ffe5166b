/** One call: where its time went, who was asked, and the money. */

import { useResource } from '../../api/resource.ts'
import { Code } from '../../kit/code.tsx'
import { Note } from '../../kit/note.tsx'
import { Facts, Figures, Page, ProblemNote, Section } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { Count, Id, Money, State, Time } from '../../kit/values.tsx'
import { to } from '../../shell/location.ts'
import { workspaceName } from '../../shell/session.ts'
import { useCharts } from '../chart.tsx'
import { apiUrl, postCommand } from '../command.ts'
import { OutcomeState } from './outcome.tsx'
import { type Attempt, type Candidate, type Generation, generationPath, type Part } from './wire.ts'

const UP = { href: to('generations'), title: 'Generations' }

export function GenerationPage({ id }: { id: string }) {
  const { data, problem, reload } = useResource<{ data: Generation }>(generationPath(id))
  const charts = useCharts()
  if (data === undefined || charts === null) {
    return (
      <Page title="Generation" up={UP}>
        <ProblemNote problem={problem} retry={reload} />
      </Page>
    )
  }
  const of = data.data
  const { outcome, phases } = of
  const attempts = of.provider_responses ?? []
  return (
    <Page title={of.model || of.requested} up={UP} beside={<OutcomeState of={{ outcome, fault: null }} />}>
      {of.fault !== null && (
        <Note is={outcome === 'failed' ? 'bad' : 'attention'}>
          <p>
            It ended by the fault <code>{of.fault}</code>.
          </p>
        </Note>
      )}
      <Figures
        rows={{
          Cost: <Money dollars={of.total_cost} />,
          'Tokens in': <Count value={of.tokens_prompt ?? 0} />,
          'Tokens out': <Count value={of.tokens_completion ?? 0} />,
          'First event': <Milliseconds value={phases.first_event} />,
          Attempts: <Count value={attempts.length} />,
          Took: <Milliseconds value={phases.total} />,
        }}
      />
      <Section title="Where the time went">{charts && <charts.Waterfall of={of} Count={Count} />}</Section>
      <div class="columns">
        <div class="stack">
          {of.rows.length > 0 && (
            <Section
              title="Turns, tools and plugins"
              lead="Each with its own money; together they are the cost."
            >
              <Table caption="Turns" columns={PARTS} rows={of.rows} keyOf={(row) => row.id} empty={null} />
            </Section>
          )}
          {attempts.length > 0 && (
            <Section
              title="Attempts"
              lead="Nobody is charged for one that came to nothing; what its provider may ask stands beneath."
            >
              <Table
                caption="Attempts"
                columns={of.rows.length > 0 ? ATTEMPTS : ATTEMPTS.slice(1)}
                rows={attempts}
                keyOf={(row) => `${attempts.indexOf(row)}`}
                empty={null}
              />
            </Section>
          )}
          <Candidates of={of} />
          <Section title="Money">
            <Facts
              rows={{
                Charged: <Money dollars={of.total_cost} />,
                'The provider asks': (
                  <span>
                    <Money dollars={of.upstream_cost} />{' '}
                    <span class="unit">
                      {of.upstream_cost_basis === 'exact' ? 'by its figures' : 'estimated'}
                    </span>
                  </span>
                ),
                'Paid by': of.is_byok ? 'the caller’s own account at the provider' : 'credits',
                'Cache discount': of.cache_discount !== null && <Money dollars={of.cache_discount} />,
                'Cached tokens': <Count value={of.native_tokens_cached ?? 0} />,
                'Reasoning tokens': <Count value={of.native_tokens_reasoning ?? 0} />,
                'Tokens counted': of.estimated ? 'here, the provider sent no figures' : 'by the provider',
                Prices: of.price_version && <code>{of.price_version}</code>,
              }}
            />
          </Section>
          <Section
            title="From a program"
            lead={
              REPEATED[of.api_type ?? ''] &&
              'The call again, with words of your own, for its were not kept; and what is told here.'
            }
          >
            {REPEATED[of.api_type ?? ''] && <Code text={repeat(of)} label="Copy the call" />}
            <Code
              text={`curl '${apiUrl('/v1/generation')}?id=${of.id}' -H "Authorization: Bearer $SLUICE_MANAGEMENT_KEY"`}
              label="Copy the command"
            />
          </Section>
        </div>
        <About of={of} />
      </div>
    </Page>
  )
}

/** What each operation is asked at, and with which words. */
const REPEATED: Readonly<Record<string, readonly [path: string, words: object]>> = {
  completions: ['chat/completions', { messages: [{ role: 'user', content: 'Say hello.' }] }],
  messages: ['messages', { max_tokens: 1024, messages: [{ role: 'user', content: 'Say hello.' }] }],
  embeddings: ['embeddings', { input: 'Say hello.' }],
  tts: ['audio/speech', { voice: 'alba', input: 'Say hello.', response_format: 'mp3' }],
}

function repeat({ api_type, requested, streamed, session_id }: Generation): string {
  const [path, words] = REPEATED[api_type ?? '']!
  const body = {
    model: requested,
    ...words,
    ...(streamed && { stream: true }),
    ...(session_id && { session_id }),
  }
  return postCommand(path, body, 'SLUICE_API_KEY') + (api_type === 'tts' ? ' -o answer.mp3' : '')
}

function About({ of }: { of: Generation }) {
  return (
    <Section title="About">
      <Facts
        rows={{
          Id: <Id id={of.id} />,
          Began: <Time at={of.created_at} />,
          'Asked for': // Its prices stand there.
            <a href={to('models', of.requested)}>{of.requested}</a>,
          'Answered by': of.provider_name || null,
          Key: <KeyOf of={of} />,
          Workspace: of.workspace_id && workspaceName(of.workspace_id),
          Session: of.session_id && (
            <a href={to('generations', null, { session: of.session_id })}>{of.session_id}</a>
          ),
          'Ended with': of.finish_reason,
          Streamed: of.streamed ? 'yes' : 'no',
          Operation: of.api_type,
          Region: of.region,
          User: of.external_user,
          Program: of.title ?? of.user_agent,
          Configuration: of.config_version && <code>{of.config_version}</code>,
        }}
      />
    </Section>
  )
}

/** Management keys have no page. */
function KeyOf({ of: { key_hash: hash, workspace_id } }: { of: Generation }) {
  const { data } = useResource<{ data: { name: string } }>(workspace_id && `api/v1/keys/${hash}`)
  if (workspace_id === null) return <>a management key</>
  return data === undefined ? (
    <Id id={hash} href={to('keys', hash)} />
  ) : (
    <a href={to('keys', hash)}>{data.data.name}</a>
  )
}

function Candidates({ of: { candidates, unlisted_candidates } }: { of: Generation }) {
  if (candidates.length === 0) return null
  return (
    <Section
      title="Who could have answered"
      lead={unlisted_candidates > 0 ? `${unlisted_candidates} more are not told.` : undefined}
    >
      <Table
        caption="Candidates"
        columns={CANDIDATES}
        rows={candidates}
        keyOf={(row) => `${candidates.indexOf(row)}`}
        empty={null}
      />
    </Section>
  )
}

const CANDIDATES: readonly Column<Candidate>[] = [
  { title: 'Order', cell: ({ place }) => place ?? <span class="soft">excluded</span> },
  { title: 'Endpoint', cell: Endpoint },
  {
    title: 'Chance',
    align: 'end',
    from: 'medium',
    cell: ({ probability }) =>
      probability === null ? (
        <span class="soft">none drawn</span>
      ) : (
        <Count value={Math.round(probability * 100)} unit="%" />
      ),
  },
  { title: 'Why', cell: ({ why }) => <span class="soft">{why.join(', ')}</span> },
]

const PARTS: readonly Column<Part>[] = [
  {
    title: 'Part',
    cell: ({ kind, name }) => (
      <span class="two-lines">
        {name}
        <span class="soft small">{kind}</span>
      </span>
    ),
  },
  { title: 'Outcome', cell: (row) => <OutcomeState of={row} /> },
  {
    title: 'First event',
    align: 'end',
    from: 'wide',
    cell: ({ phases }) => <Milliseconds value={phases.first_event} />,
  },
  {
    title: 'Took',
    align: 'end',
    from: 'medium',
    cell: (row) => <Milliseconds value={row.generation_time} />,
  },
  { title: 'Tokens in', align: 'end', from: 'wide', cell: (row) => <Count value={row.tokens_prompt} /> },
  { title: 'Tokens out', align: 'end', from: 'wide', cell: (row) => <Count value={row.tokens_completion} /> },
  { title: 'Charged', align: 'end', cell: ({ charged }) => <Money dollars={charged} /> },
]

const ATTEMPTS: readonly Column<Attempt>[] = [
  { title: 'Turn', cell: ({ kind, turn }) => `${kind}\u00a0${turn}` },
  { title: 'Endpoint', cell: Endpoint },
  {
    title: 'Status',
    cell: ({ status, error }) => (
      <span class="two-lines">
        <State is={error === null ? 'good' : 'bad'}>{`${status || 'no answer'}`}</State>
        {error !== null && <code class="soft">{error}</code>}
      </span>
    ),
  },
  { title: 'Queue', align: 'end', from: 'wide', cell: ({ queue }) => <Milliseconds value={queue} /> },
  {
    title: 'Connection',
    align: 'end',
    from: 'wide',
    cell: ({ connect }) => <Milliseconds value={connect} />,
  },
  {
    title: 'After',
    align: 'end',
    from: 'medium',
    cell: ({ latency }) => <Milliseconds value={latency} />,
  },
  {
    title: 'Charged',
    align: 'end',
    cell: ({ charged, upstream_cost, upstream_cost_basis }) => (
      <span class="two-lines">
        <Money dollars={charged} />
        {upstream_cost !== charged && (
          <span class="unit small">
            asked <Money dollars={upstream_cost} /> {upstream_cost_basis}
          </span>
        )}
      </span>
    ),
  },
]

function Endpoint({ provider_name, model }: Pick<Attempt, 'provider_name' | 'model'>) {
  return (
    <span class="two-lines">
      {provider_name}
      <span class="soft small">{model}</span>
    </span>
  )
}

function Milliseconds({ value }: { value: number | null }) {
  return value === null ? <span class="soft">none</span> : <Count value={value} unit="ms" />
}
