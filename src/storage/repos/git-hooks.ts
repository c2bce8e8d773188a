import { prepareFirst, prepareQuery } from '../database/prepared.ts'
import type { GitHook } from '../schema/repos.ts'
import type { Db } from '../schema/schema.ts'

const hooksOf = prepareQuery((db, repositoryId: number) =>
  db.selectFrom('git_hooks').select(['name', 'content']).where('repository_id', '=', repositoryId),
)

const scriptOf = prepareFirst((db, repositoryId: number, name: string) =>
  db
    .selectFrom('git_hooks')
    .select('content')
    .where('repository_id', '=', repositoryId)
    .where('name', '=', name),
)

/** The hooks of a repository that have a script, in no order. */
export function listGitHooks(
  db: Db,
  repositoryId: number,
): Promise<Pick<GitHook, 'name' | 'content'>[]> {
  return hooksOf(db, repositoryId)
}

/** The script of a hook; undefined when it has none. */
export async function findHookScript(
  db: Db,
  repositoryId: number,
  name: string,
): Promise<string | undefined> {
  return (await scriptOf(db, repositoryId, name))?.content
}

/** Gives a hook its script. */
export async function putGitHook(db: Db, hook: GitHook): Promise<void> {
  const { content, update_time } = hook
  await db
    .insertInto('git_hooks')
    .values(hook)
    .onConflict((conflict) =>
      conflict.columns(['repository_id', 'name']).doUpdateSet({ content, update_time }),
    )
    .execute()
}

/** Takes its script from a hook. One that has none is no error. */
export async function deleteGitHook(db: Db, repositoryId: number, name: string): Promise<void> {
  await db
    .deleteFrom('git_hooks')
    .where('repository_id', '=', repositoryId)
    .where('name', '=', name)
    .execute()
}
