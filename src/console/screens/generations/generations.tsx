/** Generations: the ledger in pages, the newest first, and the page of one call. */
import { useMemo } from 'preact/hooks'
import { queryOf } from '../../api/call.ts'
import { usePages, useResource } from '../../api/resource.ts'
import { Select } from '../../kit/fields.tsx'
import { Field, textIn } from '../../kit/form.tsx'
import { Icon } from '../../kit/icon.tsx'
import { Empty } from '../../kit/note.tsx'
import { Page } from '../../kit/page.tsx'
import { type Column, PagedTable } from '../../kit/table.tsx'
import { Count, Id, Money, Time } from '../../kit/values.tsx'
import { place, setQuery, to } from '../../shell/location.ts'
import { session } from '../../shell/session.ts'
import type { ScreenProps } from '../screen.ts'
import { GenerationPage } from './generation-page.tsx'
import { OUTCOMES, OutcomeState } from './outcome.tsx'
import { firstCall, GENERATIONS, type Listed } from './wire.ts'

export function Screen({ id }: ScreenProps) {
  return id === null ? <GenerationList /> : <GenerationPage key={id} id={id} />
}

const COLUMNS: readonly Column<Listed>[] = [
  {
    title: 'Time',
    cell: ({ id, created_at }) => (
      <a class="when" href={to('generations', id)}>
        <Time at={created_at} />
      </a>
    ),
  },
  {
    title: 'Model',
    cell: ({ model, requested, provider }) => (
      <span class="two-lines">
        {model || requested}
        <span class="soft small">{provider || 'nobody asked'}</span>
      </span>
    ),
  },
  { title: 'Cost', align: 'end', cell: ({ cost }) => <Money dollars={cost} /> },
  { title: 'Outcome', cell: (row) => <OutcomeState of={row} /> },
  {
    title: 'Key',
    from: 'medium',
    cell: ({ key_hash, key_name, workspace_id }) => {
      const name = <span class="one-line">{key_name ?? key_hash.slice(0, 8)}</span>
      // Management keys have no page.
      return workspace_id === null ? name : <a href={to('keys', key_hash)}>{name}</a>
    },
  },
  { title: 'Tokens in', align: 'end', from: 'wide', cell: (row) => <Count value={row.prompt_tokens} /> },
  { title: 'Tokens out', align: 'end', from: 'wide', cell: (row) => <Count value={row.completion_tokens} /> },
  {
    title: 'First event',
    align: 'end',
    from: 'wide',
    cell: ({ first_event_ms: ms }) =>
      ms === null ? <span class="soft">none</span> : <Count value={ms} unit="ms" />,
  },
  {
    title: 'Took',
    align: 'end',
    from: 'medium',
    cell: ({ duration_ms }) => <Count value={duration_ms} unit="ms" />,
  },
]

/** More than most windows show; the rest is read as it is scrolled to. */
const FIRST_ROWS = 30
const FILTERS = ['from', 'to', 'key', 'model', 'provider', 'outcome', 'session'] as const
/** What is typed, and applied together. */
const TYPED = ['from', 'to', 'model', 'provider', 'session'] as const

function GenerationList() {
  const { query } = place.value
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.get(name)]))
  const isFiltered = FILTERS.some((name) => query.has(name))
  // Of another one, where the operator comes from its page.
  const organization = query.get('organization')
  const organization_id = organization ?? session.value!.organization.id
  const pages = usePages<Listed>(
    `${GENERATIONS}${queryOf({ organization_id, limit: FIRST_ROWS, ...filters })}`,
  )
  return (
    <Page
      title="Generations"
      beside={organization && <Id id={organization} />}
      lead="Every call that was let in, with what became of it and what it cost, the newest first. A refusal (401, 402, 404, 429) leaves no row. What was said is not kept."
      actions={
        <button type="button" onClick={pages.reload}>
          Look again
        </button>
      }
    >
      <Filters />
      <PagedTable
        caption="Generations"
        columns={COLUMNS}
        pages={pages}
        keyOf={({ id }) => id}
        empty={<NoGenerations isFiltered={isFiltered} hasMore={pages.hasMore} />}
      />
    </Page>
  )
}

interface KeyNames {
  readonly data: readonly { readonly hash: string; readonly name: string }[]
}

const keysPath = (q?: string): string => `api/v1/keys${queryOf({ include_disabled: true, q })}`

function Filters() {
  const { query } = place.value
  const key = query.get('key') ?? ''
  const listed = useResource<KeyNames>(keysPath()).data?.data
  // An answer has a hundred keys at most: this one may be among those after them.
  const isLater = key !== '' && listed?.every(({ hash }) => hash !== key)
  const asked = useResource<KeyNames>(isLater ? keysPath(key) : null).data?.data
  const options = useMemo(() => {
    const names = new Map([['', 'Any'], ...(listed ?? []).map(({ hash, name }) => [hash, name] as const)])
    if (!names.has(key)) names.set(key, asked?.find(({ hash }) => hash === key)?.name ?? key.slice(0, 8))
    return [...names]
  }, [listed, asked, key])
  const textOf = (name: string): string => query.get(name) ?? ''
  return (
    <form
      // What is typed begins anew where the address changes otherwise.
      key={TYPED.map(textOf).join('\n')}
      class="filters many-filters"
      onSubmit={(event) => {
        event.preventDefault()
        const fields = new FormData(event.currentTarget)
        setQuery(Object.fromEntries(TYPED.map((name) => [name, textIn(fields, name)])))
      }}
    >
      <Select
        label="Outcome"
        value={textOf('outcome')}
        options={OUTCOMES}
        onChange={(event) => setQuery({ outcome: event.currentTarget.value })}
      />
      {/* Keys of another organization are not listed here. */}
      {!query.has('organization') && (
        <Select
          label="Key"
          value={key}
          options={options}
          onChange={(event) => setQuery({ key: event.currentTarget.value })}
        />
      )}
      <Typed label="Model" name="model" value={textOf('model')} />
      <Typed label="Provider" name="provider" value={textOf('provider')} />
      <Typed label="Session" name="session" value={textOf('session')} />
      <TypedTime label="From (UTC)" name="from" value={textOf('from')} />
      <TypedTime label="Before (UTC)" name="to" value={textOf('to')} />
      <span class="filter-actions">
        <button type="submit">
          <Icon name="search" /> Filter
        </button>
        {FILTERS.some((name) => query.has(name)) && (
          <a class="button" href={to('generations', null, { organization: query.get('organization') })}>
            All
          </a>
        )}
      </span>
    </form>
  )
}

interface TypedProps {
  readonly label: string
  readonly name: (typeof TYPED)[number]
  readonly value: string
}

function Typed({ label, name, value }: TypedProps) {
  return <Field label={label} name={name} defaultValue={value} placeholder="any" maxLength={256} isOptional />
}

/** A day; a moment, where a link has led to one. */
function TypedTime({ label, name, value }: TypedProps) {
  const type = value.includes('T') ? 'text' : 'date'
  return <Field label={label} name={name} type={type} defaultValue={value} isOptional />
}

function NoGenerations({ isFiltered, hasMore }: { isFiltered: boolean; hasMore: boolean }) {
  if (hasMore) return <Empty title="None among the latest">Older ones have not been looked at yet.</Empty>
  if (isFiltered) return <Empty title="No call was like that">Other filters show more.</Empty>
  return (
    <Empty title="No calls yet" command={firstCall()}>
      The first one appears here when it has ended:
    </Empty>
  )
}
