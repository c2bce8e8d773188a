import type { Catalogue } from '../language/catalogue.ts'

/** Texts of memos, in French. */
export const french = {
  'Memos are for signed-in users:': 'Les mémos sont réservés aux utilisateurs connectés :',
  'Your memos': 'Vos mémos',
  'No memos.': 'Aucun mémo.',
  'Older memos': 'Mémos plus anciens',
  'Current @memos': 'Actuels',
  'Archived @memos': 'Archivés',
  'Search your memos': 'Rechercher dans vos mémos',
  'an empty memo': 'mémo vide',
  '{time}, seen by only you': '{time}, visible uniquement par vous',
  '{time}, seen by all users': '{time}, visible par tous les utilisateurs',
  '{time}, seen by everybody': '{time}, visible par tout le monde',
  'only you': 'vous uniquement',
  'all users': 'tous les utilisateurs',
  'pinned @state': 'épinglé',
  Restore: 'Restaurer',
  'The memo and all comments on it are deleted.':
    'Le mémo et tous ses commentaires sont supprimés.',
  Comments: 'Commentaires',
  'on {memo}': 'sur {memo}',
  'No comments.': 'Aucun commentaire.',
  'First comments': 'Premiers commentaires',
  'Later comments': 'Commentaires suivants',
  'Comment on {memo}': 'Commentaire sur {memo}',
  'The comment is sent.': 'Le commentaire est envoyé.',
  '{login} commented': '{login} a commenté',
  'the comment {snippet}': 'le commentaire {snippet}',
  'The comment and all comments on it are deleted.':
    'Le commentaire et toutes les réponses sont supprimés.',
  'Save the memo': 'Enregistrer le mémo',
  'The memo is saved.': 'Le mémo est enregistré.',
  'New memo': 'Nouveau mémo',
  'Save the changes': 'Enregistrer les modifications',
  Text: 'Texte',
  'Markdown. #word is a tag, and @name mentions somebody.':
    'Markdown. #mot est un tag, et @nom mentionne quelqu’un.',
  'Who sees it': 'Qui le voit',
} satisfies Catalogue
