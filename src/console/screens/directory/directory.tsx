/** The directory: its connections, its groups and what they give, and the page of one connection. */
import { useState } from 'preact/hooks'
import { call, queryOf } from '../../api/call.ts'
import { usePages } from '../../api/resource.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Field, Form, textIn } from '../../kit/form.tsx'
import { Icon } from '../../kit/icon.tsx'
import { Empty } from '../../kit/note.tsx'
import { Page, ProblemNote, Section } from '../../kit/page.tsx'
import { type Column, PagedTable } from '../../kit/table.tsx'
import { Id, Time } from '../../kit/values.tsx'
import { navigate, place, setQuery, to } from '../../shell/location.ts'
import { postCommand } from '../command.ts'
import type { ScreenProps } from '../screen.ts'
import { ChangeMapping, type Gift } from './change-mapping.tsx'
import { ConnectionPage } from './connection-page.tsx'
import { Groups } from './groups.tsx'
import { Mappings } from './mappings.tsx'
import { CONNECTIONS, type Connection, GROUPS, type Group, MAPPINGS, type Mapping } from './wire.ts'

export function Screen({ id }: ScreenProps) {
  return id === null ? <DirectoryOverview /> : <ConnectionPage id={id} />
}

const COLUMNS: readonly Column<Connection>[] = [
  { title: 'Name', cell: ({ id, name }) => <a href={to('directory', id)}>{name}</a> },
  { title: 'Id', from: 'medium', cell: ({ id }) => <Id id={id} /> },
  { title: 'Connected', cell: ({ created_at }) => <Time at={created_at} dayOnly /> },
]

function DirectoryOverview() {
  const connections = usePages<Connection>(`${CONNECTIONS}?limit=100`)
  const mappings = usePages<Mapping>(`${MAPPINGS}?limit=100`)
  const groups = usePages<Group>(GROUPS + queryOf({ limit: 100, name_contains: place.value.query.get('q') }))
  const [chosen, choose] = useState<Gift | null>(null)
  const failed = [connections, mappings, groups].find(({ problem }) => problem !== null)
  const close = (): void => setQuery({ new: null })
  return (
    <Page
      title="Directory"
      lead="An identity provider delivers people and groups by SCIM; a mapping gives the members of a group a role in a workspace."
      actions={
        <button type="button" class="primary" onClick={() => setQuery({ new: 'connection' })}>
          <Icon name="plus" /> Connect a directory
        </button>
      }
    >
      {failed && <ProblemNote problem={failed.problem!} retry={failed.reload} />}
      {connections.rows && mappings.rows && groups.rows && (
        <>
          <Section title="Connections" lead="Each has its own tokens, and none sees the people of another.">
            <PagedTable
              caption="Connections"
              columns={COLUMNS}
              pages={connections}
              keyOf={({ id }) => id}
              empty={
                <Empty
                  title="No directory is connected"
                  command={postCommand('scim-connections', { name: 'Entra ID' })}
                >
                  Connect Microsoft Entra ID, Okta or another one that speaks SCIM 2.0; its address and a
                  token are shown then.
                </Empty>
              }
            />
          </Section>
          <Groups
            groups={groups}
            nameOf={(connection) => connections.rows!.find(({ id }) => id === connection)?.name ?? connection}
            give={({ id, display_name }) => choose({ name: display_name, group: id })}
          />
          <Mappings mappings={mappings} change={choose} />
        </>
      )}
      {chosen && (
        <ChangeMapping
          of={chosen}
          close={() => choose(null)}
          changed={() => {
            choose(null)
            mappings.reload()
          }}
        />
      )}
      {place.value.query.get('new') === 'connection' && (
        <Dialog title="Connect a directory" close={close}>
          <Form
            submit="Connect"
            cancel={close}
            send={(fields) =>
              call<{ data: Connection }>('POST', CONNECTIONS, { body: { name: textIn(fields, 'name') } })
            }
            done={({ data }) => navigate(to('directory', data.id))}
          >
            <Field label="Name" name="name" maxLength={256} hint="As Entra ID or Okta." autofocus />
          </Form>
        </Dialog>
      )}
    </Page>
  )
}
