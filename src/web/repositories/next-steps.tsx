import type { VNode } from 'preact'
import { Command } from '../components/command.tsx'

/** First steps, each with the command to copy. */
export function NextSteps({ username }: { username: string }): VNode {
  const { origin } = location
  return (
    <section aria-labelledby="next-steps">
      <h2 id="next-steps">Next steps</h2>
      <h3>Push a repository that you have</h3>
      <p>Create a repository with this page first, without files. Then, in your folder:</p>
      <Command
        label="Commands that push a repository"
        text={`git remote add origin ${origin}/${username}/NAME.git\ngit push -u origin HEAD`}
      />
      <h3>Create a token for scripts</h3>
      <p>
        On the page of <a href="/user/settings/tokens">access tokens</a>, or by a command:
      </p>
      <Command
        label="Command that creates a token"
        text={`curl -u ${username} -H 'content-type: application/json' \\\n  -d '{"name":"scripts","scopes":["write:repository"]}' \\\n  ${origin}/api/v1/users/${username}/tokens`}
      />
      <h3>Add an SSH key that signs your commits</h3>
      <p>
        On the page of <a href="/user/settings/keys">keys</a>, or by a command:
      </p>
      <Command
        label="Command that adds a key"
        text={`curl -u ${username} -H 'content-type: application/json' \\\n  -d "{\\"title\\":\\"laptop\\",\\"key\\":\\"$(cat ~/.ssh/id_ed25519.pub)\\"}" \\\n  ${origin}/api/v1/user/keys`}
      />
      <h3>Invite somebody</h3>
      <p>An administrator creates the account on the machine of the server:</p>
      <Command
        label="Command that creates an account"
        text="node dist/main.js user create --data ./data --username bob --password-stdin < password.txt"
      />
    </section>
  )
}
