import type { VNode } from 'preact'
import { CommitService } from '#gen/branchline/v1/commit_service_pb.ts'
import { codeHref, repositoryHref, subjectOf } from '../addresses.ts'
import { useApi } from '../api/client.ts'
import { Time } from '../components/formats.tsx'
import { Show, useLoad } from '../components/load.tsx'
import { T, t } from '../language/texts.tsx'
import { RepositoryFrame } from '../repositories/repository.tsx'
import type { PageProps } from '../routes.ts'
import { Diff, useDiff } from './diff.tsx'

/** One commit with its changes. */
export function CommitPage({ owner, repo, rest }: PageProps): VNode {
  const sha = rest[0] ?? ''
  return (
    <RepositoryFrame owner={owner} repo={repo} tab="Commits" title={sha.slice(0, 10)}>
      {() => <CommitView name={{ owner, repo }} sha={sha} />}
    </RepositoryFrame>
  )
}

function CommitView({ name, sha }: { name: { owner: string; repo: string }; sha: string }): VNode {
  const { of } = useApi()
  const service = of(CommitService)
  const details = useLoad(
    (signal) => service.getCommit({ ...name, sha, stat: false, files: false }, { signal }),
    [sha],
  )
  const diff = useDiff(
    (signal) => service.getCommitDiff({ ...name, sha, format: 'diff' }, { signal }),
    [sha],
  )
  return (
    <Show of={details} isPage>
      {(value) => {
        const { commit, author, parents } = value
        const message = commit?.message ?? ''
        const rest = message.slice(subjectOf(message).length).trim()
        return (
          <>
            <h2>{subjectOf(message) || t('No message')}</h2>
            {rest !== '' && <pre class="message">{rest}</pre>}
            <p class="facts">
              {author?.login ?? commit?.author?.name} <Time at={commit?.author?.date} />{' '}
              {commit?.verification?.verified && <span class="tag">{t('verified signature')}</span>}
            </p>
            <p class="facts">
              <T text="Commit {commit}" commit={<code>{value.sha}</code>} />
              {parents.map((parent) => (
                <span key={parent.sha}>
                  {' · '}
                  <T
                    text="parent {commit}"
                    commit={
                      <a href={`${repositoryHref(name)}/commit/${parent.sha}`}>
                        <code>{parent.sha.slice(0, 10)}</code>
                      </a>
                    }
                  />
                </span>
              ))}
              {' · '}
              <a href={codeHref(name, { kind: 'commit', name: value.sha }, '')}>{t('Files')}</a>
            </p>
            <Show of={diff}>{(files) => <Diff {...files} />}</Show>
          </>
        )
      }}
    </Show>
  )
}
