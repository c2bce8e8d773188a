import assert from 'node:assert/strict'
import { Sqlite } from '../src/platform/database/sqlite.ts'
import type { Servers } from './groups.ts'
import { http1 } from './http1-load.ts'
import type { Case, Group } from './measure.ts'
import type { ServerProcess } from './processes.ts'
import { get } from './requests.ts'
import { sized } from './sizes.ts'

const FEW_REPOSITORIES = 10
const MANY_REPOSITORIES = sized(10_000, 20)

/** Number of distinct topics, if there are enough repositories, and of topics of one repository. */
const TOPICS = 1000
const TOPICS_OF_REPOSITORY = 5

/** The default length of a page. */
const DEFAULT_LIMIT = 30

const IN_FLIGHT = 32

/**
 * Searches for topics among few and many repositories, all public. Every page is full.
 *
 * @param databases of `few` and `branchline`, which have them open.
 */
export function topicSearches(
  { branchline, few }: Servers,
  databases: { few: string; many: string },
): Group {
  insertTopics(databases.few, FEW_REPOSITORIES)
  insertTopics(databases.many, MANY_REPOSITORIES)
  const search = (server: ServerProcess, name: string, text: string): Case => ({
    name,
    client: http1,
    server,
    requests: [get(`/api/v1/topics/search?q=${text}`)],
    check: ({ status, body }) => {
      assert.equal(status, 200)
      const topics: { topic_name: string }[] = JSON.parse(body.toString()).topics
      assert.equal(topics.length, DEFAULT_LIMIT)
      for (const { topic_name } of topics) assert.ok(topic_name.includes(text))
    },
  })
  const [allOfFew, partOfFew] = [
    search(few, '10 repositories, every topic', ''),
    search(few, '10 repositories, some', '-00'),
  ]
  return {
    name: 'topics',
    title: 'SearchTopics over REST, first 30 of',
    rounds: 3,
    durationMs: 600,
    inFlight: IN_FLIGHT,
    cases: [
      allOfFew,
      { ...search(branchline, '10,000 repositories, every topic', ''), baseline: allOfFew.name },
      partOfFew,
      { ...search(branchline, '10,000 repositories, some', '-00'), baseline: partOfFew.name },
    ],
  }
}

/** Returns the name of a branch. All have one length. */
function topicOf(index: number): string {
  return `topic-${String(index).padStart(4, '0')}`
}

function insertTopics(database: string, repositories: number): void {
  const sqlite = new Sqlite(database)
  const insertRepository =
    sqlite.prepare(`insert into repositories (owner_id, name, name_key, private, default_branch,
    create_time, update_time, website, description) select id, ?, ?, 0, 'main', 0, 0, '', '' from users where username = 'ada'`)
  const insertTopic = sqlite.prepare(
    'insert or ignore into topics (name, create_time, update_time) values (?, 0, 0)',
  )
  const attach = sqlite.prepare(`insert into repository_topics (repository_id, topic_id)
    select ?, id from topics where name = ?`)
  sqlite.transaction(() => {
    for (let i = 0; i < repositories; i++) {
      const { lastInsertRowid } = insertRepository.run(`topical-${i}`, `topical-${i}`)
      for (let j = 0; j < TOPICS_OF_REPOSITORY; j++) {
        const topic = topicOf((i * TOPICS_OF_REPOSITORY + j) % TOPICS)
        insertTopic.run(topic)
        attach.run(lastInsertRowid, topic)
      }
    }
  })()
  sqlite.close()
}
