import type { VNode } from 'preact'
import type { Account } from '#gen/branchline/v1/account_pb.ts'
import { Person } from '../components/person.tsx'
import { t } from '../language/texts.tsx'

/** Who has said something in a conversation, in the order of the first words. */
export function Participants({ said }: { said: readonly (Account | undefined)[] }): VNode {
  const people = new Map(said.flatMap((account) => (account ? [[account.login, account]] : [])))
  return (
    <section class="box" aria-labelledby="participants">
      <h3 id="participants">{t('Participants')}</h3>
      <p class="values">
        {[...people].map(([login, account]) => (
          <Person key={login} login={login} account={account} />
        ))}
      </p>
    </section>
  )
}
