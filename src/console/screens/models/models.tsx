/** Models and routing: what can be named in a request, who serves it, and where a request would go. */
import { queryOf } from '../../api/call.ts'
import { usePages, useResource } from '../../api/resource.ts'
import { Select } from '../../kit/fields.tsx'
import { Field } from '../../kit/form.tsx'
import { Icon } from '../../kit/icon.tsx'
import { Empty } from '../../kit/note.tsx'
import { Page, ProblemNote, Section } from '../../kit/page.tsx'
import { type Column, PagedTable, Table } from '../../kit/table.tsx'
import { Count, Money } from '../../kit/values.tsx'
import { place, setQuery, to } from '../../shell/location.ts'
import { may } from '../../shell/session.ts'
import type { ScreenProps } from '../screen.ts'
import { ModelPage } from './model-page.tsx'
import { PromptPrice } from './prices.tsx'
import { MODELS, type Model, PROVIDERS, type Provider, perMillion } from './wire.ts'

export function Screen({ id }: ScreenProps) {
  return id === null ? <ModelList /> : <ModelPage key={id} id={id} />
}

const PAGE = 50

const COLUMNS: readonly Column<Model>[] = [
  {
    title: 'Model',
    cell: ({ id, name, alias_target }) => (
      <a class="two-lines" href={to('models', id)}>
        {name}
        <code class="soft">{alias_target ? `${id} → ${alias_target.slug}` : id}</code>
      </a>
    ),
  },
  {
    title: 'Takes',
    from: 'wide',
    cell: ({ architecture }) => <span class="soft">{architecture.input_modalities.join(', ')}</span>,
  },
  {
    title: 'Gives',
    from: 'medium',
    cell: ({ architecture }) => <span class="soft">{architecture.output_modalities.join(', ')}</span>,
  },
  {
    title: 'Context',
    align: 'end',
    from: 'medium',
    cell: ({ context_length: tokens }) => (tokens ? <Count value={tokens} /> : <span class="soft">–</span>),
  },
  {
    title: 'In, per million',
    align: 'end',
    cell: ({ pricing }) => <PromptPrice of={pricing} />,
  },
  {
    title: 'Out, per million',
    align: 'end',
    from: 'medium',
    cell: ({ pricing }) => <Money dollars={perMillion(pricing.completion)} />,
  },
]

const KINDS = [
  ['all', 'Anything'],
  ['text', 'Text'],
  ['image', 'Pictures'],
  ['audio', 'Sound'],
  ['embeddings', 'Embeddings'],
] as const

const ORDERS = [
  ['', 'Name'],
  ['pricing-low-to-high', 'Price, lowest first'],
  ['latency-low-to-high', 'Latency, lowest first'],
  ['throughput-high-to-low', 'Speed, fastest first'],
  ['context-high-to-low', 'Context, longest first'],
  ['newest', 'Newest first'],
] as const

function ModelList() {
  const { query } = place.value
  const textOf = (name: string): string => query.get(name) ?? ''
  const [q, gives, sort] = [textOf('q'), textOf('gives'), textOf('sort')]
  const asked = queryOf({ q, sort, output_modalities: gives || 'all', limit: PAGE })
  const pages = usePages<Model>(`${MODELS}${asked}`)
  const providers = useResource<{ data: readonly Provider[] }>(PROVIDERS)
  return (
    <Page
      title="Models and routing"
      lead="What a request may name in model, who serves it at what price, and, of each model, where a request would go and why."
      actions={
        may('operator') && (
          <>
            <a class="button" href={to('settings')}>
              Read the configuration again
            </a>
            <a class="button primary" href={to('settings', 'provider')}>
              <Icon name="plus" /> Connect a provider
            </a>
          </>
        )
      }
    >
      <div class="filters">
        <Field
          label="Find"
          type="search"
          isOptional
          placeholder="name or id"
          value={q}
          onInput={(event) => setQuery({ q: event.currentTarget.value || null })}
        />
        <Select
          label="Gives"
          value={gives || 'all'}
          options={KINDS}
          onChange={(event) => setQuery({ gives: event.currentTarget.value })}
        />
        <Select
          label="In order of"
          value={sort}
          options={ORDERS}
          onChange={(event) => setQuery({ sort: event.currentTarget.value })}
        />
      </div>
      <PagedTable
        caption="Models"
        columns={COLUMNS}
        pages={pages}
        keyOf={({ id }) => id}
        empty={<Empty title="No model is like that">Other words find more.</Empty>}
      />
      <ProblemNote problem={providers.problem} retry={providers.reload} />
      {pages.rows && providers.data && <Providers of={providers.data.data} />}
    </Page>
  )
}

const PROVIDER_COLUMNS: readonly Column<Provider>[] = [
  { title: 'Provider', cell: ({ name }) => name },
  { title: 'Named in requests as', cell: ({ slug }) => <code>{slug}</code> },
  { title: 'Pages', from: 'medium', cell: Pages },
]

function Providers({ of }: { of: readonly Provider[] }) {
  return (
    <Section title="Providers" lead="What provider.order, only and ignore may name.">
      <Table
        caption="Providers"
        columns={PROVIDER_COLUMNS}
        rows={of}
        keyOf={({ slug }) => slug}
        empty={null}
      />
    </Section>
  )
}

function Pages({ status_page_url, privacy_policy_url, terms_of_service_url }: Provider) {
  const pages = [
    ['Status', status_page_url],
    ['Privacy', privacy_policy_url],
    ['Terms', terms_of_service_url],
  ] as const
  const told = pages.filter(([, url]) => url !== null && /^https?:/.test(url))
  if (told.length === 0) return <span class="soft">–</span>
  return (
    <span class="links">
      {told.map(([title, url]) => (
        <a key={title} href={url!} target="_blank" rel="noreferrer">
          {title}
        </a>
      ))}
    </span>
  )
}
