/** Keys: the list, and the page of one. */

import { queryOf } from '../../api/call.ts'
import { usePages } from '../../api/resource.ts'
import { Check, Select } from '../../kit/fields.tsx'
import { Field } from '../../kit/form.tsx'
import { Icon } from '../../kit/icon.tsx'
import { Empty } from '../../kit/note.tsx'
import { Page } from '../../kit/page.tsx'
import { type Column, PagedTable } from '../../kit/table.tsx'
import { Meter, Money, Time } from '../../kit/values.tsx'
import { place, setQuery, to } from '../../shell/location.ts'
import { session, workspaceName } from '../../shell/session.ts'
import { postCommand } from '../command.ts'
import type { ScreenProps } from '../screen.ts'
import { CreateKey } from './create-key.tsx'
import { KeyPage } from './key-page.tsx'
import { KeyState } from './key-state.tsx'
import { KEYS, type Key } from './wire.ts'

export function Screen({ id }: ScreenProps) {
  return id === null ? <KeyList /> : <KeyPage hash={id} />
}

const COLUMNS: readonly Column<Key>[] = [
  {
    title: 'Name',
    cell: ({ hash, name, label }) => (
      <a class="two-lines" href={to('keys', hash)}>
        {name}
        <code class="soft">{label}</code>
      </a>
    ),
  },
  { title: 'State', cell: (key) => <KeyState of={key} /> },
  { title: 'Workspace', from: 'medium', cell: ({ workspace_id }) => workspaceName(workspace_id) },
  {
    title: 'This month (UTC)',
    align: 'end',
    from: 'medium',
    cell: ({ usage_monthly }) => <Money dollars={usage_monthly} />,
  },
  { title: 'Spent', align: 'end', cell: ({ usage }) => <Money dollars={usage} /> },
  { title: 'Limit', align: 'end', from: 'medium', cell: (key) => <LimitOf of={key} /> },
  { title: 'Expires', from: 'wide', cell: ({ expires_at }) => <Time at={expires_at} dayOnly /> },
  { title: 'Created', from: 'wide', cell: ({ created_at }) => <Time at={created_at} dayOnly /> },
]

function KeyList() {
  const { query } = place.value
  const workspace = query.get('workspace') ?? ''
  const withDisabled = query.get('disabled') !== 'no'
  const q = query.get('q') ?? ''
  const path = `${KEYS}${queryOf({ include_disabled: withDisabled, workspace_id: workspace, q })}`
  const pages = usePages<Key>(path)
  return (
    <Page
      title="Keys"
      lead="Programs call with a key. Its text is shown once; afterwards a key is known by its name and its hash."
      actions={
        <button type="button" class="primary" onClick={() => setQuery({ new: 'key' })}>
          <Icon name="plus" /> Create a key
        </button>
      }
    >
      <div class="filters">
        <Select
          label="Workspace"
          value={workspace}
          options={[
            ['', 'All workspaces'],
            ...session.value!.workspaces.map(({ id, name }) => [id, name] as const),
          ]}
          onChange={(event) => setQuery({ workspace: event.currentTarget.value })}
        />
        <Field
          label="Find"
          type="search"
          isOptional
          defaultValue={q}
          onInput={(event) => setQuery({ q: event.currentTarget.value })}
        />
        <Check
          label="Disabled keys"
          checked={withDisabled}
          onChange={(event) => setQuery({ disabled: event.currentTarget.checked ? null : 'no' })}
        />
      </div>
      <PagedTable
        caption="Keys"
        columns={COLUMNS}
        pages={pages}
        keyOf={({ hash }) => hash}
        empty={<NoKeys isFiltered={(workspace || q) !== '' || !withDisabled} />}
      />
      {query.get('new') === 'key' && (
        <CreateKey workspace={workspace} close={() => setQuery({ new: null })} created={pages.reload} />
      )}
    </Page>
  )
}

function LimitOf({ of: { limit, limit_remaining, limit_reset } }: { of: Key }) {
  if (limit === null) return <span class="soft">none</span>
  return (
    <span class="two-lines">
      <span>
        <Money dollars={limit} />
        {limit_reset && <span class="unit"> {limit_reset}</span>}
      </span>
      <Meter used={limit - (limit_remaining ?? 0)} of={limit} label="Used of the limit" />
    </span>
  )
}

function NoKeys({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No key is like that">Other filters show more.</Empty>
  return (
    <Empty
      title="No keys yet"
      command={postCommand('keys', { name: 'nightly', limit: 5, limit_reset: 'monthly' })}
    >
      Create one here, or from a program:
    </Empty>
  )
}
