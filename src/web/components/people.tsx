import type { VNode } from 'preact'
import type { Account } from '#gen/branchline/v1/account_pb.ts'
import { ActionButton } from './action-form.tsx'

/** Users, one below the other, each of whom can be removed. */
export function People(props: {
  people: readonly Account[]
  remove: (login: string) => Promise<unknown>
}): VNode {
  const { people, remove } = props
  if (people.length === 0) return <p>No members.</p>
  return (
    <ul class="list">
      {people.map(({ login }) => (
        <li key={login} class="bar">
          <a href={`/${login}`}>{login}</a>
          <ActionButton text="Remove" about={login} act={() => remove(login)} />
        </li>
      ))}
    </ul>
  )
}
