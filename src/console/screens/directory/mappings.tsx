/** What groups of directories give: listed, given, tried before it is changed, and taken away. */
import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import type { Pages } from '../../api/resource.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Field, Form, Select, textIn } from '../../kit/form.tsx'
import { Section } from '../../kit/page.tsx'
import { type Column, PagedTable } from '../../kit/table.tsx'
import { Time } from '../../kit/values.tsx'
import { to } from '../../shell/location.ts'
import { session, workspaceName } from '../../shell/session.ts'
import { tell } from '../../shell/toasts.tsx'
import { ChangeMapping } from './change-mapping.tsx'
import { type Group, MAPPINGS, type Mapping, ROLES } from './wire.ts'

interface MappingsProps {
  readonly mappings: Pages<Mapping>
  readonly groups: readonly Group[]
}

export function Mappings({ mappings, groups }: MappingsProps) {
  const [isMaking, setMaking] = useState(false)
  const [chosen, setChosen] = useState<Mapping | null>(null)
  const nameOf = ({ scim_group_id }: Mapping): string =>
    groups.find(({ id }) => id === scim_group_id)?.display_name ?? scim_group_id
  const columns: readonly Column<Mapping>[] = [
    { title: 'Group', cell: nameOf },
    {
      title: 'Gives',
      cell: ({ role, workspace_id }) => (
        <>
          {role} in <a href={to('workspaces', workspace_id)}>{workspaceName(workspace_id)}</a>
        </>
      ),
    },
    { title: 'Changed', from: 'wide', cell: ({ updated_at }) => <Time at={updated_at} dayOnly /> },
    {
      title: 'Actions',
      align: 'end',
      cell: (mapping) => (
        <button
          type="button"
          class="plain"
          aria-label={`Change the role of ${nameOf(mapping)}`}
          onClick={() => setChosen(mapping)}
        >
          Change
        </button>
      ),
    },
  ]
  const close = (): void => setMaking(false)
  return (
    <Section
      title="What groups give"
      lead="A change counts from the next call of the members on."
      actions={
        <button type="button" onClick={() => setMaking(true)}>
          Give a group a role
        </button>
      }
    >
      <PagedTable
        caption="Group mappings"
        columns={columns}
        pages={mappings}
        keyOf={({ id }) => id}
        empty={<p class="soft">No group gives a role yet.</p>}
      />
      {isMaking && (
        <Dialog title="Give a group a role" close={close}>
          <Form
            submit="Give"
            cancel={close}
            send={(fields) =>
              call('POST', MAPPINGS, {
                body: {
                  scim_group_id: textIn(fields, 'group_id') || textIn(fields, 'group'),
                  workspace_id: textIn(fields, 'workspace'),
                  role: textIn(fields, 'role'),
                },
              })
            }
            done={() => {
              tell('The group gives the role')
              close()
              mappings.reload()
            }}
          >
            {groups.length > 0 && (
              <Select
                label="Group"
                name="group"
                options={groups.map(({ id, display_name }) => [id, display_name])}
              />
            )}
            <Field
              label={groups.length > 0 ? 'Another group, by its SCIM id' : 'SCIM id of the group'}
              name="group_id"
              maxLength={36}
              isOptional={groups.length > 0}
              hint="A group that was not delivered yet gives the role as soon as it comes."
            />
            <div class="fields">
              <Select
                label="Workspace"
                name="workspace"
                options={session.value!.workspaces.map(({ id, name }) => [id, name])}
              />
              <Select label="Role" name="role" options={ROLES} />
            </div>
          </Form>
        </Dialog>
      )}
      {chosen && (
        <ChangeMapping
          of={chosen}
          group={nameOf(chosen)}
          close={() => setChosen(null)}
          changed={() => {
            setChosen(null)
            mappings.reload()
          }}
        />
      )}
    </Section>
  )
}
