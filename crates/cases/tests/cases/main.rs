//! Cases in every format, their checks, and the verdict of evidence made by hand.

mod bounds;
mod check_list;
mod documents;
mod foreign;
mod foreign_assertions;
mod foreign_suites;
mod foreign_tasks;
mod gaps;
mod grade;
mod judgments;
mod kinds;
mod offers;
mod parsers;
mod patterns;
mod plugin_evals;
mod programs;
mod routing;
mod scenarios;
mod score;
mod sentences;
mod unread;
mod user;
mod verdicts;
mod waza;
mod waza_assertions;
mod work;
