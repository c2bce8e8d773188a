import { describe } from 'vitest'
import { giteaObstacle, startGitea } from '../../support/gitea-server.ts'
import { tellImport } from './imported-project.ts'

const obstacle = giteaObstacle()
const TITLE = 'an import of a project from Gitea'

describe.skipIf(obstacle)(obstacle ? `${TITLE} (skipped: ${obstacle})` : TITLE, () => {
  tellImport(async () => {
    const { users, ...gitea } = await startGitea()
    return { ...gitea, users, token: users.bob.token }
  })
})
