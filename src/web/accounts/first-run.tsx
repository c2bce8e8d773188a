import type { VNode } from 'preact'
import { Command } from '../components/command.tsx'
import { useTitle } from '../components/page-title.ts'
import { AccountForm } from './account-form.tsx'

const CREATE_COMMAND =
  'node dist/main.js user create --data ./data --username ada --role admin --password-stdin < password.txt'

/**
 * Creates the first account, which administers the instance. The server accepts it from its own
 * machine only, and has said whether this browser is there.
 */
export function FirstRun({ isHere }: { isHere: boolean }): VNode {
  useTitle('Set up')
  return (
    <>
      <h1>Welcome to Branchline</h1>
      <p>This server has no account yet. The first account administers the server.</p>
      {isHere ? <FirstAccountForm /> : <p>Create it on the machine of the server:</p>}
      {!isHere && (
        <>
          <Command text={CREATE_COMMAND} label="Command that creates the first account" />
          <p>
            Or open the pages on that machine, at the address that the server printed when it
            started.
          </p>
        </>
      )}
    </>
  )
}

function FirstAccountForm(): VNode {
  return (
    <AccountForm
      submit="Create the administrator"
      passwordHint="Choose a long one: this account has all rights."
      onCreated={() => {
        document.documentElement.dataset.firstRun = 'no'
      }}
    />
  )
}
